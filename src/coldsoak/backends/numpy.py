"""NumPy on the host: the floor that needs no framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.backends.arrays import ArrayOps, checksum, from_recipe
from coldsoak.backends.base import Array, Backend, DeviceInfo, Runnable

if TYPE_CHECKING:
    from coldsoak.workloads.base import Workload

__all__ = ["Numpy"]


class Numpy(Backend):
    """Each call is computed when it returns."""

    name: ClassVar[str] = "numpy"
    module: ClassVar[str] = "numpy"
    distributions: ClassVar[tuple[str, ...]] = ("numpy",)
    install: ClassVar[str] = "pip install numpy"
    compilers: ClassVar[tuple[str, ...]] = ("eager",)
    kinds: ClassVar[tuple[str, ...]] = ("cpu",)

    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the CPU."""
        return () if kind == "gpu" else (DeviceInfo("cpu", "cpu"),)

    def open(self, device: DeviceInfo) -> None:
        """Do nothing: the host is ready."""

    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return arrays."""
        del device
        return tuple(from_recipe(self.lib, tensor, workload.dtype) for tensor in workload.inputs)

    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Return the plain call."""
        del compiler
        ops = ArrayOps(self.lib)
        return Runnable(
            product=lambda: workload.product(ops, *inputs),
            inner=workload.inner,
            finish=lambda _: None,
            checksum=lambda output: checksum(self.lib, output),
            location=lambda _: device.name,
        )
