"""JAX: ``jax.jit``, and op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from coldsoak.backends import cuda
from coldsoak.backends.arrays import ArrayOps, checksum, from_recipe
from coldsoak.backends.base import Array, Backend, DeviceInfo, Module, Runnable

if TYPE_CHECKING:
    from coldsoak.workloads.base import Workload

__all__ = ["Jax"]


class _JaxOps(ArrayOps):
    def __init__(self, jax: Module) -> None:
        super().__init__(jax.numpy)
        self.jax = jax

    def conv2d(self, image: Array, weights: Array) -> Array:
        return self.jax.lax.conv(image, weights, (1, 1), "SAME")

    def relu(self, a: Array) -> Array:
        return self.jax.nn.relu(a)

    def softmax(self, a: Array) -> Array:
        return self.jax.nn.softmax(a, axis=-1)


class Jax(Backend):
    """Dispatch is asynchronous on every platform; ``block_until_ready`` waits for arrays."""

    name: ClassVar[str] = "jax"
    module: ClassVar[str] = "jax"
    distributions: ClassVar[tuple[str, ...]] = (
        "jax",
        "jaxlib",
        "jax-cuda12-plugin",
        "jax-cuda13-plugin",
    )
    install: ClassVar[str] = "pip install jax (CPU) or pip install 'jax[cuda13]'"
    compilers: ClassVar[tuple[str, ...]] = ("jit", "eager")
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64", "float16", "bfloat16")

    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the devices of the CPU and GPU platforms; JAX starts all its platforms at once."""
        hosts = self._platform("cpu") if kind != "gpu" else []
        found = [DeviceInfo(f"cpu:{device.id}", "cpu", device.id) for device in hosts]
        return (*found, *self._cards()) if kind != "cpu" else tuple(found)

    def _cards(self) -> tuple[DeviceInfo, ...]:
        devices = self._platform("gpu")
        known = cuda.devices() if devices else []
        found = []
        for device in devices:
            index = device.local_hardware_id
            card = known[index] if index is not None and index < len(known) else None
            found.append(
                DeviceInfo(
                    f"gpu:{device.id}",
                    "gpu",
                    device.id,
                    device.device_kind,
                    card.uuid if card else "",
                    card.pci if card else "",
                    card.memory_bytes if card else None,
                )
            )
        return tuple(found)

    def open(self, device: DeviceInfo) -> None:
        """Copy one number to the device; on a GPU this also reserves JAX's memory pool."""
        self.lib.device_put(0.0, self._device(device)).block_until_ready()

    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return arrays committed to the device, so that computations follow them."""
        import numpy as np

        if workload.dtype == "float64":
            self.lib.config.update("jax_enable_x64", True)  # noqa: FBT003  (JAX's signature)
        scalar = getattr(self.lib.numpy, workload.dtype).dtype
        target = self._device(device)
        inputs = tuple(
            self.lib.device_put(from_recipe(np, tensor, workload.dtype, scalar), target)
            for tensor in workload.inputs
        )
        self.lib.block_until_ready(inputs)
        return inputs

    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Return the jitted call; ``eager`` dispatches one op at a time."""
        ops = _JaxOps(self.lib)

        def product(*arrays: Array) -> Array:
            return workload.product(ops, *arrays)

        call = self.lib.jit(product) if compiler == "jit" else product
        return Runnable(
            product=lambda: call(*inputs),
            inner=workload.inner,
            finish=lambda outputs: self.lib.block_until_ready(list(outputs)),
            checksum=_checksum,
            location=lambda output: ",".join(f"{d.platform}:{d.id}" for d in output.devices()),
            # The CPU client runs independent computations concurrently; a GPU has one stream.
            keep=workload.inner if device.kind == "cpu" else 1,
        )

    def precision(self) -> str:
        """Return JAX's setting; its default lets XLA choose TF32 on cards that have it."""
        return str(self.lib.config.jax_default_matmul_precision or "default")

    def _platform(self, platform: str) -> list[Any]:
        try:
            return list(self.lib.local_devices(backend=platform))
        except RuntimeError:  # "Unknown backend" or a plug-in that failed to start
            return []

    def _device(self, device: DeviceInfo) -> Array:
        return next(d for d in self._platform(device.kind) if d.id == device.index)


def _checksum(output: Array) -> dict[str, float]:
    import numpy as np

    return checksum(np, np.asarray(output))
