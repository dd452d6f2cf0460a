"""TensorFlow 2: eager, ``tf.function``, and XLA through ``jit_compile=True``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from coldsoak.backends import cuda
from coldsoak.backends.arrays import checksum, from_recipe
from coldsoak.backends.base import Array, Backend, DeviceInfo, Module, Ops, Runnable

if TYPE_CHECKING:
    from coldsoak.workloads.base import Workload

__all__ = ["Tensorflow"]

_CHANNELS_LAST = {"plain": None, "image": (0, 2, 3, 1), "filter": (2, 3, 1, 0)}


class _TensorflowOps(Ops):
    """Images are channels-last, the only order for which TensorFlow has CPU kernels."""

    def __init__(self, tf: Module) -> None:
        self.tf = tf

    def matmul(self, a: Array, b: Array) -> Array:
        return self.tf.matmul(a, b)

    def conv2d(self, image: Array, weights: Array) -> Array:
        return self.tf.nn.conv2d(image, weights, strides=1, padding="SAME")

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def multiply(self, a: Array, b: Array) -> Array:
        return a * b

    def scale(self, a: Array, factor: float) -> Array:
        return a * self.tf.constant(factor, a.dtype)

    def relu(self, a: Array) -> Array:
        return self.tf.nn.relu(a)

    def softmax(self, a: Array) -> Array:
        return self.tf.nn.softmax(a)

    def swap(self, a: Array) -> Array:
        return self.tf.linalg.matrix_transpose(a)

    def attention(self, q: Array, k: Array, v: Array, factor: float) -> Array:
        scores = self.scale(self.tf.matmul(q, k, transpose_b=True), factor)
        return self.tf.matmul(self.tf.nn.softmax(scores), v)


class Tensorflow(Backend):
    """GPU ops return once queued; ``sync_devices`` waits for all streams and executors."""

    name: ClassVar[str] = "tensorflow"
    module: ClassVar[str] = "tensorflow"
    distributions: ClassVar[tuple[str, ...]] = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu")
    install: ClassVar[str] = (
        "pip install 'coldsoak[demo]' (CPU) or pip install 'tensorflow[and-cuda]'"
    )
    compilers: ClassVar[tuple[str, ...]] = ("eager", "function", "xla")
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64", "float16", "bfloat16")

    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the physical devices; their contexts are not created."""
        hosts = self.lib.config.list_physical_devices("CPU") if kind != "gpu" else ()
        found = [DeviceInfo(f"/CPU:{index}", "cpu", index) for index in range(len(hosts))]
        return (*found, *self._cards()) if kind != "cpu" else tuple(found)

    def _cards(self) -> tuple[DeviceInfo, ...]:
        known = cuda.devices()
        cards = []
        for index, physical in enumerate(self.lib.config.list_physical_devices("GPU")):
            details = self.lib.config.experimental.get_device_details(physical)
            card = known[index] if index < len(known) else None
            cards.append(
                DeviceInfo(
                    f"/GPU:{index}",
                    "gpu",
                    index,
                    details.get("device_name", card.name if card else ""),
                    card.uuid if card else "",
                    card.pci if card else "",
                    card.memory_bytes if card else None,
                )
            )
        return tuple(cards)

    def open(self, device: DeviceInfo) -> None:
        """Create the runtime and its devices, and forbid that ops move elsewhere silently."""
        self.lib.config.set_soft_device_placement(enabled=False)
        self.lib.config.list_logical_devices()
        with self.lib.device(device.name):
            self._synchronize(self.lib.constant(0.0))

    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return eager tensors on the device."""
        import numpy as np

        scalar = getattr(self.lib, workload.dtype).as_numpy_dtype
        inputs = []
        for tensor in workload.inputs:
            array = from_recipe(np, tensor, workload.dtype, scalar)
            order = _CHANNELS_LAST[tensor.axes]
            host = array if order is None else np.ascontiguousarray(array.transpose(order))
            with self.lib.device(device.name):
                inputs.append(self.lib.identity(self.lib.constant(host)))
        self._synchronize(inputs[-1])
        return tuple(inputs)

    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Return the plain call, or one traced by ``tf.function``."""
        ops = _TensorflowOps(self.lib)

        def product(*tensors: Array) -> Array:
            return workload.product(ops, *tensors)

        if compiler == "eager":
            call = product
        else:
            jit = True if compiler == "xla" else None
            call = self.lib.function(product, jit_compile=jit, autograph=False)

        return Runnable(
            product=lambda: call(*inputs),
            inner=workload.inner,
            finish=lambda outputs: self._synchronize(outputs[-1]),
            checksum=lambda output: _checksum(output, workload.output_axes),
            location=lambda output: "/" + str(output.device).rpartition("/device:")[2],
            scope=lambda: self.lib.device(device.name),
        )

    def precision(self) -> str:
        """Return ``tf32`` when GPU products of float32 are rounded to TF32 (the default)."""
        lowered = self.lib.config.experimental.tensor_float_32_execution_enabled()
        return "tf32" if lowered else "float32"

    def _synchronize(self, tensor: Array) -> None:
        sync: Any = getattr(self.lib.test.experimental, "sync_devices", None)
        if sync is not None:
            sync()
        else:  # before TensorFlow 2.12: a value that depends on the last op of the stream
            self.lib.reshape(tensor, [-1])[0].numpy()


def _checksum(output: Array, axes: str) -> dict[str, float]:
    import numpy as np

    host = output.numpy()
    return checksum(np, host.transpose(0, 3, 1, 2) if axes == "image" else host)
