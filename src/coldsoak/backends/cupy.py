"""CuPy on CUDA devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.backends import cuda
from coldsoak.backends.arrays import ArrayOps, checksum, from_recipe
from coldsoak.backends.base import Array, Backend, DeviceInfo, Runnable

if TYPE_CHECKING:
    from coldsoak.workloads.base import Workload

__all__ = ["Cupy"]


class Cupy(Backend):
    """Calls return once queued on the current stream, which ``synchronize`` waits for."""

    name: ClassVar[str] = "cupy"
    module: ClassVar[str] = "cupy"
    distributions: ClassVar[tuple[str, ...]] = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
    install: ClassVar[str] = "pip install cupy-cuda12x (or cupy-cuda13x, as the driver allows)"
    compilers: ClassVar[tuple[str, ...]] = ("eager",)
    kinds: ClassVar[tuple[str, ...]] = ("gpu",)

    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the CUDA devices; there are no others."""
        if kind == "cpu":
            return ()
        runtime = self.lib.cuda.runtime
        try:
            count = runtime.getDeviceCount()
        except runtime.CUDARuntimeError:  # no driver, or no card
            return ()
        known = cuda.devices()
        found = []
        for index in range(count):
            properties = runtime.getDeviceProperties(index)
            card = known[index] if index < len(known) else None
            found.append(
                DeviceInfo(
                    f"cuda:{index}",
                    "gpu",
                    index,
                    properties["name"].decode(errors="replace"),
                    card.uuid if card else "",
                    card.pci if card else "",
                    properties["totalGlobalMem"],
                )
            )
        return tuple(found)

    def open(self, device: DeviceInfo) -> None:
        """Make the device current and create its context."""
        self.lib.cuda.Device(device.index).use()
        self.lib.cuda.runtime.free(0)
        self._synchronize()

    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return arrays on the current device."""
        del device
        import numpy as np

        inputs = tuple(
            self.lib.asarray(from_recipe(np, tensor, workload.dtype)) for tensor in workload.inputs
        )
        self._synchronize()
        return inputs

    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Return the plain call."""
        del device, compiler
        ops = ArrayOps(self.lib)
        return Runnable(
            product=lambda: workload.product(ops, *inputs),
            inner=workload.inner,
            finish=lambda _: self._synchronize(),
            checksum=self._checksum,
            location=lambda output: f"cuda:{output.device.id}",
        )

    def _checksum(self, output: Array) -> dict[str, float]:
        import numpy as np

        return checksum(np, self.lib.asnumpy(output))

    def _synchronize(self) -> None:
        self.lib.cuda.get_current_stream().synchronize()
