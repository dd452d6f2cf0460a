"""Two arms compared through random pairs of fresh processes."""

from __future__ import annotations

import math
from statistics import median as middle
from typing import TYPE_CHECKING

from coldsoak.model.estimate import Estimate, Ratio, Verdict
from coldsoak.stats import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from coldsoak.model.result import Launch

__all__ = [
    "compare",
    "corrected_level",
    "detectable_effect",
    "hodges_lehmann",
    "match",
    "signed_rank_index",
]

METHOD = "exp of the median log-ratio of pairs, Hettmansperger-Sheather interval"
EQUIVALENCE_LEVEL = 0.90
"""Two one-sided tests at 5 % each."""
POWER_FACTOR = 3.6
"""Detectable log-ratio = 3.6 s_d / sqrt(n): 80 % power of the interval of the median, simulated."""


def compare(
    a: Sequence[float],
    b: Sequence[float],
    *,
    threshold: float = 0.05,
    level: float = 0.95,
    after_stopping: bool = False,
) -> Ratio:
    """Compare arm ``b`` with arm ``a``; ``a[i]`` and ``b[i]`` come from one pair of processes.

    Args:
        a: Seconds of the baseline, one value per pair.
        b: Seconds of the other arm.
        threshold: Smallest effect that matters in practice, as a fraction.
        level: Level of the words ``faster`` and ``slower`` (:func:`corrected_level` for several
            arms). The interval of the estimate stays at 95 %.
        after_stopping: A stopping rule chose the number of pairs.

    Raises:
        ValueError: Unequal lengths, no pair, or a value that is not a positive number.

    """
    logs = _log_ratios(a, b)
    if not threshold > 0:
        raise ValueError(f"threshold {threshold!r} is not positive")
    walsh, bounds = hodges_lehmann(
        logs, estimate.computed_level(0.95, after_stopping=after_stopping)
    )
    verdict, clear = _verdict(
        logs, walsh, math.log1p(threshold), level=level, after_stopping=after_stopping
    )
    return Ratio(
        estimate=_as_ratio(logs, after_stopping=after_stopping),
        verdict=verdict,
        clear=clear,
        threshold=threshold,
        detectable=detectable_effect(logs),
        hodges_lehmann=math.exp(walsh),
        hodges_lehmann_interval=bounds and (math.exp(bounds[0]), math.exp(bounds[1])),
    )


def match(
    a: Iterable[Launch], b: Iterable[Launch], observe: Callable[[Launch], float | None]
) -> tuple[list[float], list[float]]:
    """Return what two arms gave in the rounds that both completed, in the order of rounds.

    Args:
        a: Launches of the baseline that count (``summary.usable``).
        b: Launches of the other arm.
        observe: Gives a launch's one value, or None when it has none.

    """
    rows = []
    for launches in (a, b):
        values = {launch.round: observe(launch) for launch in launches}
        rows.append({place: value for place, value in values.items() if value is not None})
    both = sorted(rows[0].keys() & rows[1].keys())
    return [rows[0][place] for place in both], [rows[1][place] for place in both]


def corrected_level(arms: int) -> float:
    """Return the level for the words when ``arms`` arms are compared with one baseline.

    Bonferroni: the chance of any false ``faster`` or ``slower`` stays under 5 %.
    """
    if arms < 1:
        raise ValueError(f"arms {arms!r} is not positive")
    return 1 - 0.05 / arms


def detectable_effect(logs: Sequence[float]) -> float | None:
    """Return the effect found with 80 % power, as a fraction; None where there is no interval."""
    if len(logs) < estimate.minimum_n(0.95):
        return None
    return math.expm1(POWER_FACTOR * estimate.robust_spread(logs) / math.sqrt(len(logs)))


def hodges_lehmann(
    values: Sequence[float], level: float = 0.95
) -> tuple[float, tuple[float, float] | None]:
    """Return the median of the Walsh averages and its exact signed-rank interval.

    Hodges and Lehmann, Ann. Math. Stat. 34 (1963) 598-611. The interval is None when n is too
    small for the level.
    """
    walsh = sorted(
        (one + other) / 2 for index, one in enumerate(values) for other in values[index:]
    )
    k = signed_rank_index(len(values), level)
    return middle(walsh), (walsh[k - 1], walsh[-k]) if k else None


def signed_rank_index(n: int, level: float = 0.95) -> int:
    """Return k: the k-th smallest and largest Walsh averages bound the centre with ``level``.

    From the exact distribution of the signed-rank statistic: k is the largest number with
    2 P(W <= k - 1) <= 1 - level; 0 when there is none.
    """
    counts = [1]
    for rank in range(1, n + 1):
        grown = counts + [0] * rank
        for total, count in enumerate(counts):
            grown[total + rank] += count
        counts = grown
    allowed = (1 - level) / 2 * 2**n
    k = tail = 0
    while (tail := tail + counts[k]) <= allowed:
        k += 1
    return k


def _log_ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values do not make pairs")
    for arm in (a, b):
        estimate.check(arm)
        if min(arm) == 0:
            raise ValueError("a ratio needs positive values, and one is 0")
    return [math.log(other / one) for one, other in zip(a, b, strict=True)]


def _as_ratio(logs: Sequence[float], *, after_stopping: bool) -> Estimate:
    found = estimate.median(logs, after_stopping=after_stopping, signed=True)
    ratios = [math.exp(value) for value in logs]
    return Estimate(
        point=math.exp(found.point),
        low=None if found.low is None else math.exp(found.low),
        high=None if found.high is None else math.exp(found.high),
        level=found.level,
        after_stopping=after_stopping,
        n=found.n,
        minimum=min(ratios),
        maximum=max(ratios),
        unit="ratio",
        method=METHOD,
        two_groups=estimate.two_groups(ratios),
        outliers=estimate.count_outliers(ratios),
    )


def _verdict(
    logs: Sequence[float], walsh: float, band: float, *, level: float, after_stopping: bool
) -> tuple[Verdict, bool]:
    """Apply the table of verdicts of ``docs/statistics.md`` to log-ratios.

    ``band`` is the threshold, as a log-ratio too.
    """
    words = estimate.interval(logs, estimate.computed_level(level, after_stopping=after_stopping))
    near = estimate.interval(
        logs, estimate.computed_level(EQUIVALENCE_LEVEL, after_stopping=after_stopping)
    )
    enough = len(logs) >= estimate.minimum_n(0.95)
    if enough and near is not None and -band < near[0] and near[1] < band:
        return "same", False
    if words is None or words[0] <= 0 <= words[1]:
        return "inconclusive", False
    centre = middle(logs)
    if centre * walsh < 0:
        return "inconclusive", False
    clear = words[0] > band or words[1] < -band
    return ("slower" if centre > 0 else "faster"), clear
