"""Two-dimensional convolution, 3 × 3, stride 1, zero padding that keeps the size."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.workloads.base import Workload
from coldsoak.workloads.pattern import Tensor

if TYPE_CHECKING:
    from coldsoak.workloads.ops import Array, Ops

__all__ = ["Conv2d"]


class Conv2d(Workload):
    """A convolution of ``batch`` square images; every framework in its own memory order."""

    name: ClassVar[str] = "conv2d"
    summary: ClassVar[str] = "3 × 3 convolution of square images, stride 1"
    defaults: ClassVar[dict[str, int]] = {
        "size": 100,
        "batch": 8,
        "channels": 16,
        "filters": 32,
        "kernel": 3,
    }
    output_axes: ClassVar[str] = "image"
    tolerance: ClassVar[dict[str, float]] = {
        "float64": 1e-9,
        "float32": 1e-3,  # Winograd and FFT algorithms round where the direct sum is exact
        "float16": 1e-2,
        "bfloat16": 3e-2,
    }

    @property
    def product_flops(self) -> float:
        """2 · outputs · channels · kernel², padding counted as work."""
        return 2.0 * self.output_size * self.dims["channels"] * self.dims["kernel"] ** 2

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Images (batch, channels, size, size) and weights (filters, channels, kernel, kernel)."""
        d = self.dims
        return (
            Tensor((d["batch"], d["channels"], d["size"], d["size"]), axes="image"),
            Tensor(
                (d["filters"], d["channels"], d["kernel"], d["kernel"]), offset=17, axes="filter"
            ),
        )

    @property
    def output_size(self) -> int:
        """Outputs: batch · filters · size²."""
        return self.dims["batch"] * self.dims["filters"] * self.dims["size"] ** 2

    def product(self, ops: Ops, *inputs: Array) -> Array:
        """Return the convolved images."""
        image, weights = inputs
        return ops.conv2d(image, weights)
