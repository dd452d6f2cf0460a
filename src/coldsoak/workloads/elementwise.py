"""Elementwise arithmetic: bound by memory traffic, and where fusing compilers pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.workloads.base import Workload
from coldsoak.workloads.pattern import Tensor

if TYPE_CHECKING:
    from coldsoak.workloads.ops import Array, Ops

__all__ = ["Elementwise"]


class Elementwise(Workload):
    """``relu(x * y + x)`` over n × n elements, exact in every dtype."""

    name: ClassVar[str] = "elementwise"
    summary: ClassVar[str] = "relu(x * y + x), n × n"
    defaults: ClassVar[dict[str, int]] = {"n": 1000}
    tolerance: ClassVar[dict[str, float]] = {
        "float64": 1e-9,
        "float32": 1e-4,
        "float16": 1e-3,
        "bfloat16": 1e-3,
    }

    @property
    def product_flops(self) -> float:
        """3 n²: multiply, add, compare."""
        return 3.0 * self.output_size

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Two matrices."""
        n = self.dims["n"]
        return (Tensor((n, n)), Tensor((n, n), offset=17))

    @property
    def output_size(self) -> int:
        """n²."""
        return self.dims["n"] ** 2

    def product(self, ops: Ops, *inputs: Array) -> Array:
        """Return ``relu(x * y + x)``."""
        x, y = inputs
        return ops.relu(ops.add(ops.multiply(x, y), x))
