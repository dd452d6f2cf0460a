"""Where, inside one process, a series of runs becomes steady."""

from __future__ import annotations

import math
from collections import Counter
from itertools import accumulate, pairwise
from statistics import median as middle
from statistics import quantiles
from typing import TYPE_CHECKING

from coldsoak.model.estimate import SteadyClass, SteadyState
from coldsoak.stats import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["AGREEMENT", "MINIMUM_RUNS", "common", "detect"]

MINIMUM_RUNS = 20
"""Fewest runs after run 0 for a statement about a steady state."""
AGREEMENT = 0.8
"""Share of launches that must agree on a class."""
BAND = 0.03
"""Segments whose log-medians differ by less belong together."""
MINIMUM_SEGMENT = 3
MINIMUM_TAIL = 10
PENALTY = 6.0
"""Times ln n, in units of the noise variance; 3 over-segments correlated noise, 10 misses steps."""
SPIKE = 4.0
"""Noise scales from the running median that make a spike."""
WINDOW = 7
EXACT_RUNS = 500
"""Beyond this many runs PELT prunes the dynamic programme."""
NOISE_FLOOR = 1e-4


def detect(seconds: Sequence[float]) -> SteadyState:
    """Classify the runs of one series in one process.

    Run 0 is set aside. ``n`` of the answer counts the runs after it, ``start`` counts run 0 as 0,
    ``seconds`` is the median of the raw times of the steady tail.

    Raises:
        ValueError: A time that is negative or not finite, or no times.

    """
    estimate.check(seconds)
    later = seconds[1:]
    n = len(later)
    if n < MINIMUM_RUNS:
        return SteadyState(kind="not assessed", n=n)
    logs = _logarithms(later)
    noise = _noise(logs)
    clean, spikes = _despike(logs, noise)
    ends = _segments([value / noise for value in clean])
    medians = [middle(clean[start:end]) for start, end in pairwise([0, *ends])]
    first = _absorb(medians, max(BAND, noise))
    tail = [0, *ends][first]
    if n - tail < max(MINIMUM_TAIL, n / 2):
        return SteadyState(kind="no steady state", spikes=spikes, n=n)
    return SteadyState(
        kind=_classify(medians[:first], medians[-1]),
        start=tail + 1,
        seconds=middle(later[tail:]),
        spikes=spikes,
        n=n,
    )


def common(states: Iterable[SteadyState]) -> tuple[str, dict[str, int]]:
    """Return the class of at least 80 % of the launches, else ``inconsistent``, and the counts."""
    counts = Counter(state.kind for state in states)
    if not counts:
        return "not assessed", {}
    kind, most = counts.most_common(1)[0]
    agreed = most >= AGREEMENT * counts.total()
    return (kind if agreed else "inconsistent"), {str(name): n for name, n in counts.items()}


def _logarithms(seconds: Sequence[float]) -> list[float]:
    """Take logarithms; half of the smallest positive time stands in for a reading of 0."""
    floor = min((value for value in seconds if value > 0), default=1.0) / 2
    return [math.log(value or floor) for value in seconds]


def _noise(logs: Sequence[float]) -> float:
    """Scale of the noise from successive differences, which a step or a trend hardly touches.

    The median absolute deviation is taken from the midhinge: for runs that alternate between two
    times the median of the differences is one of the two steps, and the deviation from it 0.
    """
    steps = [after - before for before, after in pairwise(logs)]
    lower, _, upper = quantiles(steps, n=4, method="inclusive")
    deviation = middle(abs(step - (lower + upper) / 2) for step in steps)
    return max(estimate.MAD_TO_SIGMA * deviation / math.sqrt(2), NOISE_FLOOR)


def _despike(logs: Sequence[float], noise: float) -> tuple[list[float], int]:
    """Replace values far from the median of the seven around them, and count them.

    At the end of the series the window stays seven wide, or two spikes among the last four runs
    would pass for the level. At its start it shrinks, so that a short warm-up is not taken away.
    """
    last = max(0, len(logs) - WINDOW)
    reach = WINDOW // 2
    clean, spikes = [], 0
    for index, value in enumerate(logs):
        local = middle(logs[max(0, min(index - reach, last)) : index + reach + 1])
        spike = abs(value - local) > SPIKE * noise
        clean.append(local if spike else value)
        spikes += spike
    return clean, spikes


def _segments(scaled: Sequence[float]) -> list[int]:
    """Return the ends of the segments that minimise squared error plus the penalty."""
    import numpy as np
    from ruptures import KernelCPD

    n = len(scaled)
    penalty = PENALTY * math.log(n)
    signal = np.asarray(scaled) - middle(scaled)
    search = KernelCPD(kernel="linear", min_size=MINIMUM_SEGMENT).fit(signal.reshape(-1, 1))
    if n > EXACT_RUNS:
        return [int(end) for end in search.predict(pen=penalty)]
    most = n // MINIMUM_SEGMENT - 1
    search.predict(n_bkps=most)
    candidates = [[n], *(search.predict(n_bkps=count) for count in range(1, most + 1))]
    squared = _prefix(value * value for value in signal.tolist())
    linear = _prefix(signal.tolist())

    def cost(ends: Sequence[int]) -> float:
        return penalty * len(ends) + math.fsum(
            squared[end] - squared[start] - (linear[end] - linear[start]) ** 2 / (end - start)
            for start, end in pairwise([0, *ends])
        )

    return [int(end) for end in min(candidates, key=cost)]


def _prefix(values: Iterable[float]) -> list[float]:
    return [0.0, *accumulate(values)]


def _absorb(medians: Sequence[float], band: float) -> int:
    """Return the index of the first segment of the tail that ends the series."""
    first = len(medians) - 1
    while first > 0 and abs(medians[first - 1] - medians[-1]) <= band:
        first -= 1
    return first


def _classify(earlier: Sequence[float], last: float) -> SteadyClass:
    slower = any(value > last for value in earlier)
    faster = any(value < last for value in earlier)
    if slower and faster:
        return "mixed"
    if slower:
        return "warming"
    return "slowing" if faster else "flat"
