"""Scaled dot-product attention of one sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.workloads.base import Workload
from coldsoak.workloads.pattern import Tensor

if TYPE_CHECKING:
    from coldsoak.workloads.ops import Array, Ops

__all__ = ["Attention"]


class Attention(Workload):
    """``softmax(q kᵀ / √d) v`` per head; the framework's fused call where it has one."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "softmax(q kᵀ / √d) v, per head"
    defaults: ClassVar[dict[str, int]] = {"length": 500, "batch": 1, "heads": 8, "depth": 64}
    tolerance: ClassVar[dict[str, float]] = {
        "float64": 1e-9,
        "float32": 5e-3,  # TF32 rounds the softmax weights to 11 bits
        "float16": 2e-2,
        "bfloat16": 5e-2,
    }

    @property
    def product_flops(self) -> float:
        """Two products of 2 · length² · depth per head, and 4 · length² for scale and softmax."""
        d = self.dims
        pairs = d["batch"] * d["heads"] * d["length"] ** 2
        return pairs * (4.0 * d["depth"] + 4.0)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Queries, keys and values, each (batch, heads, length, depth)."""
        d = self.dims
        shape = (d["batch"], d["heads"], d["length"], d["depth"])
        return (
            Tensor(shape, shift=1),
            Tensor(shape, offset=17, shift=1),
            Tensor(shape, offset=31),
        )

    @property
    def output_size(self) -> int:
        """Outputs: batch · heads · length · depth."""
        return self.dims["batch"] * self.dims["heads"] * self.dims["length"] * self.dims["depth"]

    def product(self, ops: Ops, *inputs: Array) -> Array:
        """Return the attended values."""
        q, k, v = inputs
        return ops.attention(q, k, v, self.dims["depth"] ** -0.5)
