"""Closed-form inputs that every framework can build bit for bit, without NumPy and quickly.

Element ``i`` (flat, C order) of a tensor is ``level(i + offset) * 2**-shift`` where ``level`` has a
period of 8191 and the values -1, 0, 1 and 2. Such numbers are exact in every floating dtype, and
sums of their products stay exact in float32 (and TF32) up to 4 million terms, so that frameworks
must agree and not only come close. A period is encoded once and repeated by memory copies.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod

__all__ = ["DTYPES", "ITEMSIZE", "PERIOD", "Tensor", "level"]

PERIOD = 8191
"""A prime, so that rows of the usual lengths never repeat each other."""

ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
"""Bytes of one element."""

DTYPES = tuple(ITEMSIZE)

_MULTIPLIER = 0x9E3779B1  # 2**32 over the golden ratio: Fibonacci hashing


def level(index: int) -> int:
    """Return the integer in {-1, 0, 1, 2} at ``index`` of the sequence (period 8191)."""
    hashed = (index % PERIOD + 1) * _MULTIPLIER & 0xFFFFFFFF
    return (hashed >> 21 & 3) - 1


@dataclass(frozen=True)
class Tensor:
    """The recipe of one input.

    ``axes`` is ``"plain"``, ``"image"`` (batch, channels, height, width) or ``"filter"`` (filters,
    channels, height, width): backends whose framework wants another order transpose the two.
    """

    shape: tuple[int, ...]
    offset: int = 0
    """Where in the sequence the tensor starts; tells inputs of one workload apart."""
    shift: int = 0
    """The integers are divided by ``2**shift``."""
    axes: str = "plain"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def encode(self, dtype: str) -> bytearray:
        """Return the elements in C order as little-endian ``dtype``; writable, ``size`` items."""
        step = ITEMSIZE[dtype]
        period = _encode([level(i + self.offset) * 2.0**-self.shift for i in range(PERIOD)], dtype)
        wanted = self.size * step
        data = bytearray(period * (wanted // len(period) + 1))
        del data[wanted:]
        return data


def _encode(values: list[float], dtype: str) -> bytes:
    if dtype == "bfloat16":
        words = struct.pack(f"<{len(values)}f", *values)
        upper = bytearray(len(words) // 2)
        upper[0::2], upper[1::2] = words[2::4], words[3::4]
        return bytes(upper)
    code = {"float16": "e", "float32": "f", "float64": "d"}[dtype]
    return struct.pack(f"<{len(values)}{code}", *values)
