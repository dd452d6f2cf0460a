"""Forward pass of a multilayer perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.workloads.base import Workload
from coldsoak.workloads.pattern import Tensor

if TYPE_CHECKING:
    from coldsoak.workloads.ops import Array, Ops

__all__ = ["Mlp"]


class Mlp(Workload):
    """``layers`` times ``relu(x @ w + b)``, all layers ``width`` wide.

    Weights are divided by the power of two that keeps activations near one, in half precision too.
    """

    name: ClassVar[str] = "mlp"
    summary: ClassVar[str] = "multilayer perceptron, forward: relu(x @ w + b) per layer"
    defaults: ClassVar[dict[str, int]] = {"width": 1000, "batch": 64, "layers": 3}
    tolerance: ClassVar[dict[str, float]] = {
        "float64": 1e-9,
        "float32": 5e-3,  # TF32 rounds the activations between layers to 11 bits
        "float16": 2e-2,
        "bfloat16": 5e-2,
    }

    @property
    def product_flops(self) -> float:
        """Per layer 2 · batch · width² and 2 · batch · width for bias and relu."""
        batch, width = self.dims["batch"], self.dims["width"]
        return self.dims["layers"] * (2.0 * batch * width**2 + 2.0 * batch * width)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The batch, then weight and bias of each layer."""
        batch, width = self.dims["batch"], self.dims["width"]
        shift = (width - 1).bit_length()
        tensors = [Tensor((batch, width))]
        for layer in range(self.dims["layers"]):
            tensors.append(Tensor((width, width), offset=17 + 31 * layer, shift=shift))
            tensors.append(Tensor((width,), offset=23 + 31 * layer, shift=2))
        return tuple(tensors)

    @property
    def output_size(self) -> int:
        """Outputs: batch · width."""
        return self.dims["batch"] * self.dims["width"]

    def product(self, ops: Ops, *inputs: Array) -> Array:
        """Return the activations of the last layer."""
        x, *parameters = inputs
        for i in range(0, len(parameters), 2):
            weight, bias = parameters[i : i + 2]
            x = ops.relu(ops.add(ops.matmul(x, weight), bias))
        return x
