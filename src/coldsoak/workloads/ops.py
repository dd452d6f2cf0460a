"""The primitives over which workloads are written; every framework implements them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["Array", "Ops"]

Array = Any
"""A tensor of a framework, or its name in a graph that is being built."""


class Ops(ABC):
    """The primitives over which workloads are written. Tensors are the framework's own."""

    @abstractmethod
    def matmul(self, a: Array, b: Array) -> Array:
        """Return the product over the last two axes."""

    @abstractmethod
    def conv2d(self, image: Array, weights: Array) -> Array:
        """Return the convolution with stride 1 and zero padding that keeps the size."""

    @abstractmethod
    def add(self, a: Array, b: Array) -> Array:
        """Return ``a + b``; ``b`` is broadcast over the leading axes."""

    @abstractmethod
    def multiply(self, a: Array, b: Array) -> Array:
        """Return the elementwise product."""

    @abstractmethod
    def scale(self, a: Array, factor: float) -> Array:
        """Return ``a * factor`` in the dtype of ``a``."""

    @abstractmethod
    def relu(self, a: Array) -> Array:
        """Return ``max(a, 0)``."""

    @abstractmethod
    def softmax(self, a: Array) -> Array:
        """Return the softmax over the last axis."""

    @abstractmethod
    def swap(self, a: Array) -> Array:
        """Return ``a`` with its last two axes exchanged."""

    def attention(self, q: Array, k: Array, v: Array, factor: float) -> Array:
        """Return ``softmax(q kᵀ · factor) v``; override where the framework has a fused call."""
        scores = self.scale(self.matmul(q, self.swap(k)), factor)
        return self.matmul(self.softmax(scores), v)
