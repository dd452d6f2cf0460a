"""What the frameworks with NumPy's interface share: numpy, cupy and jax.numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.backends.base import Array, Module, Ops

if TYPE_CHECKING:
    from coldsoak.workloads.pattern import Tensor

__all__ = ["ArrayOps", "checksum", "from_recipe"]


class ArrayOps(Ops):
    """The primitives on an array module ``xp``."""

    def __init__(self, xp: Module) -> None:
        self.xp = xp

    def matmul(self, a: Array, b: Array) -> Array:
        return self.xp.matmul(a, b)

    def conv2d(self, image: Array, weights: Array) -> Array:
        """Return the convolution as one product over all windows (im2col)."""
        height, width = weights.shape[2:]
        top, left = (height - 1) // 2, (width - 1) // 2
        sides = ((0, 0), (0, 0), (top, height - 1 - top), (left, width - 1 - left))
        padded = self.xp.pad(image, sides)
        windows = self.xp.lib.stride_tricks.sliding_window_view(padded, (height, width), (2, 3))
        out = self.xp.tensordot(windows, weights, axes=((1, 4, 5), (1, 2, 3)))
        return out.transpose(0, 3, 1, 2)

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def multiply(self, a: Array, b: Array) -> Array:
        return a * b

    def scale(self, a: Array, factor: float) -> Array:
        return a * factor

    def relu(self, a: Array) -> Array:
        return self.xp.maximum(a, 0)

    def softmax(self, a: Array) -> Array:
        raised = self.xp.exp(a - a.max(axis=-1, keepdims=True))
        return raised / raised.sum(axis=-1, keepdims=True)

    def swap(self, a: Array) -> Array:
        return self.xp.swapaxes(a, -1, -2)


def from_recipe(xp: Module, tensor: Tensor, dtype: str, scalar: type | None = None) -> Array:
    """Return ``tensor`` as an array of the host module ``xp`` (NumPy).

    ``scalar`` is the element type where NumPy lacks ``dtype`` (bfloat16).
    """
    data = xp.frombuffer(tensor.encode(dtype), dtype=scalar or dtype)
    return xp.array(data.reshape(tensor.shape))  # a copy: frombuffer's memory is not aligned


def checksum(xp: Module, output: Array, wide: str = "float64") -> dict[str, float]:
    """Return mean, root mean square and three elements, summed in dtype ``wide``.

    ``first`` and ``last`` are the ends, ``edge`` is the end of the first row: a transposed or
    reversed output has others.
    """
    widened = output.astype(wide)
    start, row_end = (0,) * widened.ndim, (*[0] * (widened.ndim - 1), -1)
    return {
        "mean": float(xp.mean(widened)),
        "rms": float(xp.sqrt(xp.mean(widened * widened))),
        "first": float(widened[start]),
        "edge": float(widened[row_end]),
        "last": float(widened[(-1,) * widened.ndim]),
    }
