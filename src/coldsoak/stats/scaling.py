"""How a time grows with the size: a constant, a part per byte and a part per operation."""

from __future__ import annotations

import math
from statistics import median as middle
from typing import TYPE_CHECKING

from coldsoak.model.base import Frozen
from coldsoak.stats import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.estimate import Estimate

__all__ = ["Scaling", "fit"]

METHOD = "median of one non-negative least-squares fit per round, Hettmansperger-Sheather interval"


class Scaling(Frozen, kw_only=True):
    """``seconds = constant + per_byte * N**2 + per_flop * N**3``, each over rounds of processes."""

    constant: Estimate
    """Seconds that do not depend on the size."""
    per_byte: Estimate
    """Seconds per N**2: data that is made, moved or touched."""
    per_flop: Estimate
    """Seconds per N**3: arithmetic of a matrix product."""
    error: float
    """Median over rounds of the root mean square relative residual."""
    sizes: tuple[float, ...]

    def parts(self, size: float) -> tuple[float, float, float]:
        """Return the seconds of the three terms at ``size``."""
        return (
            self.constant.point,
            self.per_byte.point * size**2,
            self.per_flop.point * size**3,
        )


def fit(sizes: Sequence[float], seconds: Sequence[Sequence[float]]) -> Scaling:
    """Fit the three terms in every round, then take medians over the rounds.

    Args:
        sizes: N of each column, at least three different ones.
        seconds: One row per round: a fresh process for each size, in the order of ``sizes``.

    The residuals are relative, because noise is: every row is divided by its measured time.
    An interval comes from the rounds alone, never from residuals inside one.

    Raises:
        ValueError: Fewer than three different positive sizes, no round, a row of another length,
            or a time that is not a positive number.

    """
    _check(sizes, seconds)
    rounds = [_fit_round(sizes, row) for row in seconds]
    constant, per_byte, per_flop = (
        estimate.median([coefficients[index] for coefficients, _ in rounds], method=METHOD)
        for index in range(3)
    )
    return Scaling(
        constant=constant,
        per_byte=per_byte,
        per_flop=per_flop,
        error=middle(error for _, error in rounds),
        sizes=tuple(sizes),
    )


def _fit_round(sizes: Sequence[float], row: Sequence[float]) -> tuple[list[float], float]:
    import numpy as np
    from scipy.optimize import nnls

    largest = max(sizes)
    units = np.array([1.0, largest**2, largest**3])
    terms = np.array([[1.0, size**2, size**3] for size in sizes]) / units
    weighted = terms / np.array(row)[:, None]
    coefficients, residual = nnls(weighted, np.ones(len(row)))
    return [float(value) for value in coefficients / units], float(residual) / math.sqrt(len(row))


def _check(sizes: Sequence[float], seconds: Sequence[Sequence[float]]) -> None:
    if len({size for size in sizes if size > 0}) < 3 or min(sizes) <= 0:
        raise ValueError("three terms need at least three different positive sizes")
    if not seconds:
        raise ValueError("no rounds: the fit needs at least one process for each size")
    for row in seconds:
        if len(row) != len(sizes):
            raise ValueError(f"a round has {len(row)} times for {len(sizes)} sizes")
        estimate.check(row)
        if min(row) == 0:
            raise ValueError("a relative residual needs positive times, and one is 0")
