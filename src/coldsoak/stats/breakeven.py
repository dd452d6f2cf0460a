"""After how many runs a dearer first run has paid for itself."""

from __future__ import annotations

from statistics import median as middle
from typing import TYPE_CHECKING, Literal

from coldsoak.model.base import Frozen
from coldsoak.stats import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BreakEven", "between"]

LEVEL = 0.975
"""Of each difference, so that both hold together with 95 %."""


class BreakEven(Frozen, kw_only=True):
    """When arm B pays against arm A."""

    kind: Literal["after", "before", "always", "never", "undetermined"]
    """``after``: B pays from ``runs`` on; ``before``: B pays only up to ``runs``."""
    runs: float | None = None
    low: float | None = None
    high: float | None = None
    """Conservative 95 % bounds from the corners; None when there is no interval."""
    n: int = 0
    """Pairs."""


def between(
    overhead_a: Sequence[float],
    steady_a: Sequence[float],
    overhead_b: Sequence[float],
    steady_b: Sequence[float],
) -> BreakEven:
    """Compare total time ``overhead + N x steady`` of two arms over pairs of launches.

    The number of runs is (C_B - C_A) / (s_A - s_B), from the medians of the paired differences.
    Its bounds are the extreme quotients of their 97.5 % intervals, which takes 7 pairs.

    Raises:
        ValueError: Sequences of unequal length, or values that are not finite.

    """
    series = (overhead_a, steady_a, overhead_b, steady_b)
    if len({len(values) for values in series}) != 1:
        raise ValueError("the four sequences must have one value per pair")
    for values in series:
        estimate.check(values, signed=True)
    extra = [b - a for a, b in zip(overhead_a, overhead_b, strict=True)]
    gain = [a - b for a, b in zip(steady_a, steady_b, strict=True)]
    n = len(extra)
    extra_bounds, gain_bounds = (estimate.interval(values, LEVEL) for values in (extra, gain))
    if extra_bounds is None or gain_bounds is None or gain_bounds[0] <= 0 <= gain_bounds[1]:
        return BreakEven(kind="undetermined", n=n)
    return _settle(middle(extra), extra_bounds, middle(gain), gain_bounds, n)


def _settle(
    extra: float,
    extra_bounds: tuple[float, float],
    gain: float,
    gain_bounds: tuple[float, float],
    n: int,
) -> BreakEven:
    if (extra <= 0) == (gain > 0) or extra == 0:
        return BreakEven(kind="always" if gain > 0 else "never", n=n)
    corners = [one / other for one in extra_bounds for other in gain_bounds]
    return BreakEven(
        kind="after" if gain > 0 else "before",
        runs=extra / gain,
        low=max(0.0, min(corners)),
        high=max(corners),
        n=n,
    )
