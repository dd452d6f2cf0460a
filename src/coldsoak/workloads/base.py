"""What a workload is: sizes, inputs, one product, and the bounds of its cost."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from coldsoak.errors import UsageError
from coldsoak.workloads.pattern import DTYPES, ITEMSIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldsoak.workloads.ops import Array, Ops
    from coldsoak.workloads.pattern import Tensor

__all__ = ["Workload", "agree"]


@dataclass(frozen=True)
class Workload(ABC):
    """One computation of one size; a *product* is one evaluation, a *run* is ``inner`` of them.

    The computation is written once, in :meth:`product`, over the primitives of
    ``coldsoak.workloads.ops.Ops``; eager frameworks execute it, compilers and graph builders trace
    it. Subclasses set the class variables and the abstract members.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    """Named sizes; names missing here have the values of ``defaults``."""
    dtype: str = "float32"
    inner: int = 10
    """Products in a run."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for people."""
    defaults: ClassVar[dict[str, int]]
    """All dimensions; the first is the one that a bare ``--shape 1000`` sets."""
    output_axes: ClassVar[str] = "plain"
    """``plain`` or ``image``, as :class:`Tensor` has it; frameworks may order images otherwise."""
    tolerance: ClassVar[dict[str, float]]
    """Relative difference of checksums that rounding may cause, by dtype."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.dims) - set(self.defaults))
        if unknown:
            raise UsageError(
                f"The workload {self.name} has no dimension {', '.join(unknown)}.",
                do=f"Dimensions are {', '.join(self.defaults)}.",
            )
        object.__setattr__(self, "dims", {**self.defaults, **self.dims})
        small = [name for name, size in self.dims.items() if size < 1]
        if small or self.inner < 1:
            raise UsageError(f"{', '.join(small) or 'inner'} of {self.name} must be at least 1.")
        if self.dtype not in DTYPES:
            raise UsageError(
                f"The dtype {self.dtype} is not known.", do=f"Use one of {', '.join(DTYPES)}."
            )

    @classmethod
    def at(cls, shape: str, *, dtype: str = "float32", inner: int = 10) -> Workload:
        """Return the workload at ``shape``: ``"1000"`` or ``"size=56,batch=8"``."""
        return cls(_parse(cls, shape), dtype, inner)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEMSIZE[self.dtype]

    @property
    def flops(self) -> float:
        """Floating-point operations of one run, as the field counts them (a multiply-add is 2)."""
        return self.inner * self.product_flops

    @property
    def bytes_moved(self) -> float:
        """Bytes that one run must read and write at the least: inputs once, outputs once."""
        return self.inner * self.product_bytes

    @property
    @abstractmethod
    def product_flops(self) -> float:
        """Floating-point operations of one product."""

    @property
    def product_bytes(self) -> float:
        """Least traffic of one product, in bytes."""
        inputs = sum(tensor.size for tensor in self.inputs)
        return float((inputs + self.output_size) * self.itemsize)

    @property
    @abstractmethod
    def inputs(self) -> tuple[Tensor, ...]:
        """Recipes of the inputs, in the order of :meth:`product`'s arguments."""

    @property
    @abstractmethod
    def output_size(self) -> int:
        """Elements of the output."""

    @abstractmethod
    def product(self, ops: Ops, *inputs: Array) -> Array:
        """Return one product, computed with the primitives ``ops`` of a framework."""

    def label(self) -> str:
        """Return the sizes that differ from the defaults, the first always: ``1000``."""
        first, *rest = self.defaults
        changed = [key for key in rest if self.dims[key] != self.defaults[key]]
        return ",".join([str(self.dims[first]), *(f"{key}={self.dims[key]}" for key in changed)])


def _parse(cls: type[Workload], shape: str) -> dict[str, int]:
    first = next(iter(cls.defaults))
    dims: dict[str, int] = {}
    for part in shape.split(","):
        name, _, value = part.strip().rpartition("=")
        if not re.fullmatch(r"[0-9]+", value) or (name or first) in dims:
            raise UsageError(
                f"{shape!r} is not a shape of {cls.name}.",
                do=f"Write a number ({first}), or name the sizes: "
                + ",".join(f"{key}={size}" for key, size in cls.defaults.items()),
            )
        dims[name or first] = int(value)
    return dims


def agree(
    left: Mapping[str, float], right: Mapping[str, float], tolerance: float
) -> dict[str, tuple[float, float]]:
    """Return the scalars of two checksums that differ by more than ``tolerance``, relatively.

    The scale of a difference is the root mean square of the output where it is known, since a
    single element may be zero. A scalar that only one side has, or that is not a number, differs.
    """
    scale = max(abs(left.get("rms", 0.0)), abs(right.get("rms", 0.0)))
    different = {}
    for key in sorted({*left, *right}):
        a, b = left.get(key, float("nan")), right.get(key, float("nan"))
        near = abs(a - b) <= tolerance * max(abs(a), abs(b), scale)
        if not near:
            different[key] = (a, b)
    return different
