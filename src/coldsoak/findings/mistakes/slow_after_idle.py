"""Runs after a pause are slow again

A run that follows a pause takes longer than one that follows another run at once. Clocks fall while
a device rests, threads go to sleep, caches are taken by others. A loop without pauses then promises
times that a service with pauses does not reach, and the other way round.

It fires when runs after pauses of a quarter of a second or more take at least 1.5 times as long
as, and half a millisecond more than, the runs without a pause, in four of five launches with at
least three of each.

Measure with the pauses that the real use has; tell both figures.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import busy_machine, least_difference, mostly
from coldsoak.findings.words import seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Execution

CODE = "slow-after-idle"
SEVERITY: Severity = "warning"

PAUSE_S = 0.25
CLOSE_S = 0.05
"""Pauses at most this long count as none."""
TIMES = 1.5
MORE_S = 0.5e-3
EACH = 3


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series that is slow after pauses."""
    for arm, series, _ in view.each():
        pairs = [pair for row in view.runs(arm, series.id) if (pair := _split(row))]
        least = max(MORE_S, least_difference(view, arm) if busy_machine(view, arm) else 0.0)
        if not mostly(a >= max(TIMES * b, b + least) for a, b, _ in pairs):
            continue
        after, close = median(p[0] for p in pairs), median(p[1] for p in pairs)
        pause = median(p[2] for p in pairs)
        file, line = view.place(series.start)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"After a pause of {seconds_text(pause)}, {view.name(series.id)} takes "
                f"{seconds_text(after)} instead of {seconds_text(close)}."
            ),
            confidence="likely",
            settle="The card's clocks before and after such a run would tell a rest from a cache.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=after - close,
        )


def _split(row: Sequence[Execution]) -> tuple[float, float, float] | None:
    """Return the median after a pause, without one, and the pause; None when too few of either."""
    gaps = [
        ((after.start_ns - before.end_ns) / 1e9, after.wall)
        for before, after in pairwise(row)
        if before.pid == after.pid
    ]
    paused = [(gap, wall) for gap, wall in gaps if gap >= PAUSE_S]
    close = [wall for gap, wall in gaps if gap <= CLOSE_S]
    if len(paused) < EACH or len(close) < EACH:
        return None
    return median(w for _, w in paused), median(close), median(g for g, _ in paused)
