"""Numbers that a report may print: never bare floats."""

from __future__ import annotations

from typing import Literal

from coldsoak.model.base import Frozen

__all__ = ["Estimate", "Ratio", "SteadyClass", "SteadyState", "Unit", "Verdict"]

Unit = Literal["s", "ratio", "bytes", "count"]
"""Of an estimate; seconds unless said otherwise."""


class Estimate(Frozen, kw_only=True):
    """A median over processes with its interval.

    ``low`` and ``high`` are ``None`` when ``n`` is too small for the level (95 % needs 6).
    """

    point: float
    """Median, in ``unit``."""
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    """Nominal coverage of [low, high]."""
    after_stopping: bool = False
    """True when a stopping rule chose ``n``; the interval is then computed at 97 %."""
    n: int
    minimum: float
    maximum: float
    unit: Unit = "s"
    method: str = "median, Hettmansperger-Sheather interval"
    two_groups: bool = False
    """The values fall in two separate groups, so a single headline would mislead."""
    outliers: int = 0
    """Values labelled by the modified z-score of their logarithm (> 3.5); none is dropped."""


SteadyClass = Literal["flat", "warming", "slowing", "mixed", "no steady state", "not assessed"]


class SteadyState(Frozen, kw_only=True):
    """What change-point detection says about one series of one launch."""

    kind: SteadyClass
    start: int | None = None
    """Index of the first steady run (0-based, counting run 0), or None."""
    seconds: float | None = None
    """Median of the steady tail, in seconds, or None."""
    spikes: int = 0
    """Runs replaced by the running median for segmentation only."""
    n: int = 0


Verdict = Literal["faster", "slower", "same", "inconclusive"]


class Ratio(Frozen, kw_only=True):
    """A paired comparison: the median of B/A over random pairs of fresh processes."""

    estimate: Estimate
    verdict: Verdict
    clear: bool
    """The interval lies wholly beyond the threshold."""
    threshold: float
    detectable: float | None = None
    """Smallest effect that this many pairs find with 80 % power, as a fraction."""
    hodges_lehmann: float
    """Cross-check of the median: median of the Walsh averages of the log-ratios, exponentiated."""
    hodges_lehmann_interval: tuple[float, float] | None = None
    """Exact signed-rank interval of the cross-check; None when n is too small."""
