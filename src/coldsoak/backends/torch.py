"""PyTorch: eager, and through ``torch.compile``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.backends import cuda
from coldsoak.backends.base import Array, Backend, DeviceInfo, Module, Ops, Runnable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.workloads.base import Workload

__all__ = ["Torch"]


class _TorchOps(Ops):
    def __init__(self, torch: Module) -> None:
        self.torch = torch

    def matmul(self, a: Array, b: Array) -> Array:
        return self.torch.matmul(a, b)

    def conv2d(self, image: Array, weights: Array) -> Array:
        return self.torch.nn.functional.conv2d(image, weights, padding="same")

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def multiply(self, a: Array, b: Array) -> Array:
        return a * b

    def scale(self, a: Array, factor: float) -> Array:
        return a * factor

    def relu(self, a: Array) -> Array:
        return self.torch.relu(a)

    def softmax(self, a: Array) -> Array:
        return self.torch.softmax(a, -1)

    def swap(self, a: Array) -> Array:
        return a.transpose(-1, -2)

    def attention(self, q: Array, k: Array, v: Array, factor: float) -> Array:
        attend = self.torch.nn.functional.scaled_dot_product_attention
        return attend(q, k, v, scale=factor)


class Torch(Backend):
    """CUDA calls return once queued; ``torch.cuda.synchronize`` waits for the device."""

    name: ClassVar[str] = "torch"
    module: ClassVar[str] = "torch"
    distributions: ClassVar[tuple[str, ...]] = ("torch",)
    install: ClassVar[str] = "pip install torch"
    compilers: ClassVar[tuple[str, ...]] = ("eager", "compile")
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64", "float16", "bfloat16")

    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the CPU and the CUDA devices (ROCm's too, which go by the same name)."""
        host = DeviceInfo("cpu", "cpu", description=f"{self.lib.get_num_threads()} threads")
        if kind == "cpu":
            return (host,)
        return self._cards() if kind == "gpu" else (host, *self._cards())

    def _cards(self) -> tuple[DeviceInfo, ...]:
        if not self.lib.cuda.is_available():
            return ()
        known = cuda.devices()
        cards = []
        for index in range(self.lib.cuda.device_count()):
            properties = self.lib.cuda.get_device_properties(index)
            card = known[index] if index < len(known) else None
            cards.append(
                DeviceInfo(
                    f"cuda:{index}",
                    "gpu",
                    index,
                    properties.name,
                    card.uuid if card else "",
                    card.pci if card else "",
                    properties.total_memory,
                )
            )
        return tuple(cards)

    def open(self, device: DeviceInfo) -> None:
        """Create the context by an empty tensor, which starts no kernel."""
        self.lib.empty(1, device=device.name)
        self._synchronize(device)

    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return tensors, copied to the device."""
        dtype = getattr(self.lib, workload.dtype)
        inputs = []
        for tensor in workload.inputs:
            flat = self.lib.frombuffer(tensor.encode(workload.dtype), dtype=dtype)
            inputs.append(flat.reshape(tensor.shape).to(device.name, copy=True))
        self._synchronize(device)
        return tuple(inputs)

    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Return the plain call, or one through ``torch.compile`` with its defaults."""
        ops = _TorchOps(self.lib)

        def product(*tensors: Array) -> Array:
            return workload.product(ops, *tensors)

        call = self.lib.compile(product) if compiler == "compile" else product

        def finish(outputs: Sequence[Array]) -> None:
            del outputs  # one stream, in order
            self._synchronize(device)

        return Runnable(
            product=lambda: call(*inputs),
            inner=workload.inner,
            finish=finish,
            checksum=_checksum,
            location=lambda output: str(output.device),
        )

    def precision(self) -> str:
        """Return ``tf32`` when CUDA products may be rounded so; cuDNN's convolutions are by default."""
        if self.lib.get_float32_matmul_precision() != "highest":
            return "tf32"
        return "float32, convolutions tf32" if self.lib.backends.cudnn.allow_tf32 else "float32"

    def _synchronize(self, device: DeviceInfo) -> None:
        if device.kind == "gpu":
            self.lib.cuda.synchronize(device.name)


def _checksum(output: Array) -> dict[str, float]:
    wide = output.cpu().double()  # NumPy may be missing, and lacks bfloat16
    return {
        "mean": wide.mean().item(),
        "rms": wide.square().mean().sqrt().item(),
        "first": wide.flatten()[0].item(),
        "edge": wide[(0,) * (wide.ndim - 1)][-1].item(),
        "last": wide.flatten()[-1].item(),
    }
