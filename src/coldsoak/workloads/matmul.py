"""Square matrix product: the measure of most "why is the first run slow" questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.workloads.base import Workload
from coldsoak.workloads.pattern import Tensor

if TYPE_CHECKING:
    from coldsoak.workloads.ops import Array, Ops

__all__ = ["Matmul"]


class Matmul(Workload):
    """``x @ x`` for an n × n matrix; exact in float32 whatever the order of the sums."""

    name: ClassVar[str] = "matmul"
    summary: ClassVar[str] = "x @ x, n × n"
    defaults: ClassVar[dict[str, int]] = {"n": 1000}
    tolerance: ClassVar[dict[str, float]] = {
        "float64": 1e-9,
        "float32": 1e-4,  # the products are exact; the means are not
        "float16": 5e-3,
        "bfloat16": 2e-2,
    }

    @property
    def product_flops(self) -> float:
        """2 n³."""
        return 2.0 * self.dims["n"] ** 3

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """One matrix."""
        return (Tensor((self.dims["n"], self.dims["n"])),)

    @property
    def output_size(self) -> int:
        """n²."""
        return self.dims["n"] ** 2

    def product(self, ops: Ops, *inputs: Array) -> Array:
        """Return ``x @ x``."""
        (x,) = inputs
        return ops.matmul(x, x)
