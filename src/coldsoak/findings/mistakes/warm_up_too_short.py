"""The runs are still getting quicker when the figures are taken

The process needs more than one run until its times are steady, and the runs on the way there are a
good part of the average of the later runs.

It fires when at least four of five launches have a steady tail that begins at run 3 or later, and
the runs between the first and that tail raise the mean of the later runs by a tenth or more.

Warm up for the number of runs that the finding names, or take the median of the steady tail. A
fixed time for warming up (25 ms, say) is a guess; a test for a steady state is none.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import SMALLEST_S, busy_machine, mostly, walls
from coldsoak.findings.words import seconds_text, share_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "warm-up-too-short"
SEVERITY: Severity = "warning"

RAISED = 0.10
"""By how much the unsettled runs must raise the mean of the later runs."""
FROM_RUN = 3
"""First steady run from which the warm-up counts as longer than one run; 2 is another finding."""


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series that is still warming up in its later runs."""
    for arm, series, summary in view.each():
        if not summary.steady_start or summary.steady_class not in {"warming", "mixed"}:
            continue
        start = summary.steady_start[0]
        rows = [row for row in walls(view, arm, series.id) if len(row) > start + 1]
        if start < FROM_RUN or busy_machine(view, arm):
            continue
        if not mostly(_raised(row, start) >= RAISED for row in rows):
            continue
        steady = median(median(row[start:]) for row in rows)
        spent = median(sum(row[1:start]) - (start - 1) * median(row[start:]) for row in rows)
        if spent < SMALLEST_S:
            continue
        raised = median(_raised(row, start) for row in rows)
        file, line = view.place(series.start)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"{view.name(series.id)} is steady ({seconds_text(steady)}) from run {start} on; "
                f"the runs before it raise the mean of the later runs by {share_text(raised)}."
            ),
            advice=(f"Leave out the first {start} runs.",),
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=spent,
        )


def _raised(row: list[float], start: int) -> float:
    steady = median(row[start:])
    return fmean([*row[1:start], *[steady] * (len(row) - start)]) / steady - 1 if steady else 0.0
