"""What the frameworks with NumPy's interface share: numpy, cupy and jax.numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.backends.base import Array, Module, Ops

if TYPE_CHECKING:
    from coldsoak.workloads.pattern import Tensor

__all__ = ["ArrayOps", "checksum", "from_recipe"]

_PIECE = 1 << 22
"""Elements that are widened at a time."""


class ArrayOps(Ops):
    """The primitives on an array module ``xp``."""

    def __init__(self, xp: Module) -> None:
        self.xp = xp

    def matmul(self, a: Array, b: Array) -> Array:
        return self.xp.matmul(a, b)

    def conv2d(self, image: Array, weights: Array) -> Array:
        """Return the sum over the kernel's places of one product over the channels each."""
        (height, width), (rows, columns) = image.shape[2:], weights.shape[2:]
        top, left = (rows - 1) // 2, (columns - 1) // 2
        sides = ((0, 0), (0, 0), (top, rows - 1 - top), (left, columns - 1 - left))
        padded = self.xp.pad(image, sides)
        out: Array = 0
        for i in range(rows):
            for j in range(columns):
                moved = padded[:, :, i : i + height, j : j + width]
                out = out + self.xp.tensordot(moved, weights[:, :, i, j], axes=((1,), (1,)))
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


def checksum(numpy: Module, output: Array) -> dict[str, float]:
    """Return mean, root mean square and three elements of an output that was copied to the host.

    ``first`` and ``last`` are the ends, ``edge`` is the end of the first row: a transposed or
    reversed output has others. Sums are made in float64, in pieces, so that a large output is not
    held twice; nothing more runs on the device.
    """
    flat = output.reshape(-1)
    total = square = 0.0
    for i in range(0, flat.size, _PIECE):
        piece = flat[i : i + _PIECE].astype("float64")
        total += float(piece.sum())
        square += float(numpy.dot(piece, piece))
    return {
        "mean": total / flat.size,
        "rms": (square / flat.size) ** 0.5,
        "first": float(flat[0]),
        "edge": float(flat[output.shape[-1] - 1]),
        "last": float(flat[-1]),
    }
