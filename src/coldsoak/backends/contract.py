"""The contract of a backend, as a check that a third party can run in its own tests.

    python -m coldsoak.backends.contract mypackage.backend:MyBackend cpu

Every workload is computed at a tiny size in every mode, and matrix products in every dtype; the
results are compared with the same workload in plain Python floats.
"""

from __future__ import annotations

import math
import sys
from importlib import import_module
from itertools import product as pairs
from struct import unpack
from typing import TYPE_CHECKING, Any

from coldsoak import workloads
from coldsoak.backends.base import Array, Backend, Ops
from coldsoak.errors import ColdsoakError

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldsoak.backends.base import DeviceInfo
    from coldsoak.workloads import Tensor, Workload

__all__ = ["SMALL", "check", "reference"]

SMALL = {
    "matmul": "n=13",
    "conv2d": "size=6,batch=2,channels=3,filters=2",
    "elementwise": "n=13",
    "mlp": "width=12,batch=3,layers=2",
    "attention": "length=7,batch=1,heads=2,depth=4",
}
"""Sizes that plain Python computes in milliseconds; odd, so that padding shows."""


def check(backend: type[Backend], device: str = "cpu") -> tuple[str, ...]:
    """Return what ``backend`` breaks; empty when it keeps the contract. Imports the framework.

    Raises:
        ColdsoakError: The framework or the device is missing.

    """
    if not backend.compilers or not backend.dtypes:
        return (f"{backend.__name__} must name at least one compiler and one dtype",)
    one = backend()
    one.load()
    where = one.resolve(device)
    one.open(where)
    first, dtype = backend.compilers[0], backend.dtypes[0]
    cases = [
        *((name, compiler, dtype) for name, compiler in pairs(SMALL, backend.compilers)),
        *(("matmul", first, other) for other in backend.dtypes[1:]),
    ]
    return tuple(
        f"{', '.join(case)}: {fault}" for case in cases for fault in _faults(one, where, *case)
    )


def _faults(one: Backend, where: DeviceInfo, name: str, compiler: str, dtype: str) -> list[str]:
    workload = workloads.get(name).at(SMALL[name], dtype=dtype, inner=2)
    try:
        runnable = one.prepare(workload, where, compiler)
        runnable.run()
        runnable.wait()
        found = runnable.checksum()
        location = runnable.location()
    except ColdsoakError as error:
        return [error.what]
    except Exception as error:  # noqa: BLE001  (a plug-in may raise anything)
        return [f"{type(error).__name__}: {error}"]
    different = workloads.agree(reference(workload), found, workload.tolerance[workload.dtype])
    faults = [f"{key} is {got!r}, not {true!r}" for key, (true, got) in different.items()]
    if location != where.name:
        faults.append(f"the output is on {location!r}, not on {where.name!r}")
    return faults


def reference(workload: Workload) -> dict[str, float]:
    """Return the checksum of a small workload, computed in plain Python floats."""
    inputs = [_nested(tensor) for tensor in workload.inputs]
    output = workload.product(_PythonOps(), *inputs)
    flat = _flatten(output)
    return {
        "mean": math.fsum(flat) / len(flat),
        "rms": math.sqrt(math.fsum(x * x for x in flat) / len(flat)),
        "first": flat[0],
        "edge": _row(output)[-1],
        "last": flat[-1],
    }


def _nested(tensor: Tensor) -> Array:
    values: list[Any] = list(unpack(f"<{tensor.size}d", tensor.encode("float64")))
    for length in reversed(tensor.shape[1:]):
        values = [values[i : i + length] for i in range(0, len(values), length)]
    return values


def _flatten(nested: Array) -> list[float]:
    if not isinstance(nested, list):
        return [nested]
    return [x for part in nested for x in _flatten(part)]


def _row(nested: Array) -> list[float]:
    return _row(nested[0]) if isinstance(nested[0], list) else nested


def _deep(function: Callable[..., float], *nested: Array) -> Array:
    """Apply ``function`` to corresponding numbers; a shallower list is used for each row."""
    first = nested[0]
    if not isinstance(first, list):
        return function(*nested)
    rows = [other if _depth(other) == _depth(first) else [other] * len(first) for other in nested]
    return [_deep(function, *row) for row in zip(*rows, strict=True)]


def _depth(nested: Array) -> int:
    return 1 + _depth(nested[0]) if isinstance(nested, list) else 0


class _PythonOps(Ops):
    """The primitives on nested lists."""

    def matmul(self, a: Array, b: Array) -> Array:
        if _depth(a) > 2:
            return [self.matmul(x, y) for x, y in zip(a, b, strict=True)]
        columns = list(zip(*b, strict=True))
        return [[math.fsum(map(float.__mul__, row, column)) for column in columns] for row in a]

    def conv2d(self, image: Array, weights: Array) -> Array:
        return [[_convolve(planes, kernels) for kernels in weights] for planes in image]

    def add(self, a: Array, b: Array) -> Array:
        return _deep(float.__add__, a, b)

    def multiply(self, a: Array, b: Array) -> Array:
        return _deep(float.__mul__, a, b)

    def scale(self, a: Array, factor: float) -> Array:
        return _deep(lambda x: x * factor, a)

    def relu(self, a: Array) -> Array:
        return _deep(lambda x: max(x, 0.0), a)

    def softmax(self, a: Array) -> Array:
        if _depth(a) > 1:
            return [self.softmax(x) for x in a]
        raised = [math.exp(x - max(a)) for x in a]
        return [x / math.fsum(raised) for x in raised]

    def swap(self, a: Array) -> Array:
        if _depth(a) > 2:
            return [self.swap(x) for x in a]
        return [list(column) for column in zip(*a, strict=True)]


def _convolve(planes: Array, kernels: Array) -> list[list[float]]:
    height, width = len(planes[0]), len(planes[0][0])
    middle = len(kernels[0]) // 2

    def at(y: int, x: int) -> float:
        return math.fsum(
            plane[y + i - middle][x + j - middle] * kernel[i][j]
            for plane, kernel in zip(planes, kernels, strict=True)
            for i, j in pairs(range(len(kernel)), range(len(kernel[0])))
            if 0 <= y + i - middle < height and 0 <= x + j - middle < width
        )

    return [[at(y, x) for x in range(width)] for y in range(height)]


def main(argv: list[str]) -> int:
    """Check ``module:Class`` on a device; print what it breaks; 1 when it breaks anything."""
    module, _, attribute = argv[0].partition(":")
    backend: type[Backend] = getattr(import_module(module), attribute)
    faults = check(backend, *argv[1:2])
    sys.stdout.write("\n".join(faults or [f"{backend.name} keeps the contract"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
