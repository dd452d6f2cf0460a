"""Medians over processes, their intervals, and what the values warn about.

``docs/statistics.md`` says why each is what it is. SciPy is imported inside the functions because
importing it takes longer than most commands run.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from statistics import median as middle
from typing import TYPE_CHECKING

from coldsoak.model.estimate import Estimate, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "METHOD",
    "computed_level",
    "count_outliers",
    "grain_reached",
    "half_width",
    "interval",
    "median",
    "minimum_n",
    "of_known",
    "percentile_bound",
    "robust_spread",
    "two_groups",
]

METHOD = "median, Hettmansperger-Sheather interval"

MAD_TO_SIGMA = 1.4826
"""Makes the median absolute deviation estimate sigma under normality (1 / Phi^-1(3/4))."""
MEAN_AD_TO_SIGMA = 1.253314
"""The same for the mean absolute deviation, sqrt(pi / 2); used where the MAD is zero."""
OUTLIER_SCORE = 3.5
"""Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993)."""
TAIL_N = 20
"""Fewest values for a statement about a tail."""
GROUPS_N = 8
"""Fewest values for the hint about two groups."""


def computed_level(level: float, *, after_stopping: bool) -> float:
    """Return the level to compute at: looks spend 40 % of the error, so 95 % becomes 97 %."""
    return 1 - 0.6 * (1 - level) if after_stopping else level


def minimum_n(level: float) -> int:
    """Return the fewest values whose full range covers the median with ``level``.

    The range of n values misses the median with probability 2 / 2**n: 95 % needs 6.
    """
    _check_level(level)
    return math.ceil(1 - math.log2(1 - level) - 1e-9)


def interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Return the Hettmansperger-Sheather interval of the median, or None when n is too small.

    The values may be negative. Statistics and Probability Letters 4 (1986) 75-79, as implemented
    by ``scipy.stats.mstats.median_cihs``.
    """
    if len(values) < minimum_n(level):
        return None
    if min(values) == max(values):
        return values[0], values[0]
    from scipy.stats import mstats

    low, high = mstats.median_cihs(list(values), alpha=1 - level)
    centre = middle(values)
    # Interpolation between equal values may round past them.
    return max(min(values), min(float(low), centre)), min(max(values), max(float(high), centre))


def median(
    values: Sequence[float],
    *,
    level: float = 0.95,
    after_stopping: bool = False,
    unit: Unit = "s",
    signed: bool = False,
    method: str = METHOD,
) -> Estimate:
    """Estimate the median over processes from one value per process.

    Args:
        values: One observation per process, in ``unit``.
        level: Nominal coverage of the interval.
        after_stopping: A stopping rule chose ``len(values)``; the interval is computed at the
            level of :func:`computed_level`.
        unit: Unit of the values.
        signed: Negative values make sense (differences); otherwise they are refused.
        method: Text stored with the estimate.

    Raises:
        ValueError: No values, a value that is not finite, or a negative one without ``signed``.

    """
    check(values, signed=signed)
    bounds = interval(values, computed_level(level, after_stopping=after_stopping))
    low, high = bounds if bounds is not None else (None, None)
    if grain_reached(values):
        method += "; clock grain reached, over half of the values tie"
    return Estimate(
        point=middle(values),
        low=low,
        high=high,
        level=level,
        after_stopping=after_stopping,
        n=len(values),
        minimum=min(values),
        maximum=max(values),
        unit=unit,
        method=method,
        two_groups=two_groups(values),
        outliers=count_outliers(values),
    )


def of_known(
    values: Iterable[float | None],
    *,
    after_stopping: bool = False,
    unit: Unit = "s",
    signed: bool = False,
    method: str = METHOD,
) -> Estimate | None:
    """Return :func:`median` of the values that are not None; None when there is no such value."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return median(known, after_stopping=after_stopping, unit=unit, signed=signed, method=method)


def percentile_bound(
    values: Sequence[float], *, fraction: float = 0.9, level: float = 0.95, unit: Unit = "s"
) -> Estimate | None:
    """Estimate a percentile with order-statistic bounds; None below 20 values.

    ``low`` and ``high`` are each a one-sided bound with coverage ``level``. The upper bound of
    the 90th percentile at 95 % needs 29 values and is None before that.
    """
    check(values, signed=True)
    _check_level(level)
    if len(values) < TAIL_N:
        return None
    from scipy.stats import binom
    from scipy.stats.mstats import mquantiles

    ordered, n = sorted(values), len(values)
    below = int(binom.ppf(1 - level, n, fraction))
    above = int(binom.ppf(level, n, fraction))
    return Estimate(
        point=float(mquantiles(ordered, [fraction], alphap=1, betap=1)[0]),
        low=ordered[below - 1] if below >= 1 else None,
        high=ordered[above] if above < n else None,
        level=level,
        n=n,
        minimum=ordered[0],
        maximum=ordered[-1],
        unit=unit,
        method=f"{fraction * 100:g}th percentile, one-sided order-statistic bounds",
    )


def half_width(estimate: Estimate) -> float | None:
    """Return half the width of the interval relative to the point, or None without either."""
    if estimate.low is None or estimate.high is None or estimate.point == 0:
        return None
    return (estimate.high - estimate.low) / 2 / abs(estimate.point)


def robust_spread(values: Sequence[float]) -> float:
    """Return a robust standard deviation: scaled MAD, or scaled mean deviation where that is 0."""
    centre = middle(values)
    deviations = [abs(value - centre) for value in values]
    return MAD_TO_SIGMA * middle(deviations) or MEAN_AD_TO_SIGMA * math.fsum(deviations) / len(
        deviations
    )


def count_outliers(values: Sequence[float]) -> int:
    """Count values whose modified z-score exceeds 3.5, on logarithms where all are positive."""
    scaled = [math.log(value) for value in values] if min(values) > 0 else list(values)
    spread = robust_spread(scaled)
    if spread < 1e-12:
        return 0
    centre = middle(scaled)
    return sum(abs(value - centre) / spread > OUTLIER_SCORE for value in scaled)


def two_groups(values: Sequence[float]) -> bool:
    """Tell whether the values fall in two groups that one headline would hide.

    The largest gap exceeds half the range, both sides hold at least 20 % of the values, and the
    gap is over 5 % of the median (closer groups mislead nobody). Not asked of fewer than 8 values.
    """
    if len(values) < GROUPS_N:
        return False
    ordered = sorted(values)
    gaps = [after - before for before, after in pairwise(ordered)]
    gap = max(gaps)
    left = gaps.index(gap) + 1
    smaller = min(left, len(values) - left)
    apart = gap > (ordered[-1] - ordered[0]) / 2 and gap > 0.05 * abs(middle(values))
    return apart and smaller >= 0.2 * len(values)


def grain_reached(values: Sequence[float]) -> bool:
    """Tell whether over half of at least six values tie: the clock is coarser than the noise."""
    if len(values) < minimum_n(0.95):
        return False
    return 2 * max(Counter(values).values()) > len(values)


def check(values: Sequence[float], *, signed: bool = False) -> None:
    """Refuse what no estimator may see.

    Raises:
        ValueError: No values, a value that is not finite, or a negative one without ``signed``.

    """
    if not values:
        raise ValueError("no values: an estimate needs at least one process")
    refused: tuple[tuple[str, Callable[[float], bool]], ...] = (
        ("is not finite", lambda value: not math.isfinite(value)),
        ("is negative, and a duration cannot be", lambda value: not signed and value < 0),
    )
    for what, bad in refused:
        for index, value in enumerate(values):
            if bad(value):
                raise ValueError(f"value {index} ({value!r}) {what}")


def _check_level(level: float) -> None:
    if not 0.5 <= level < 1:
        raise ValueError(f"level {level!r} is not in [0.5, 1)")
