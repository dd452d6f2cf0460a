"""Every Nth run is slow

One run in N takes more than twice as long as those between, again and again. That is neither
warm-up nor noise: something happens at every Nth run, such as workers that deliver in bursts, a
buffer that fills up, or a checkpoint.

It fires when every Nth run (N up to 8) of at least four repetitions stands out, hardly any other
run does, and four of five launches have the same N. Run 0 is left out.

An average over a number of runs that is no multiple of N is off; a median hides the slow runs
altogether. Tell both figures, or time N runs as one.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import least_difference, mostly, period_of, walls
from coldsoak.findings.words import seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "periodic"
SEVERITY: Severity = "warning"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series with a period that the launches agree on."""
    for arm, series, _ in view.each():
        period = common_period(view, arm, series.id)
        if period is None:
            continue
        runs = view.typical(arm, series.id)[1:]
        slow = median(max(runs[i : i + period]) for i in range(0, len(runs) - period + 1, period))
        quick = median(runs)
        file, line = view.place(series.start)
        rows = " ".join(seconds_text(value) for value in runs[: 2 * period + 1])
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            title=f"Every {_nth(period)} run is slow",
            text=(
                f"In {view.name(series.id)} every {_nth(period)} run takes {seconds_text(slow)}, "
                f"the others {seconds_text(quick)}: not warm-up and not noise."
            ),
            evidence=(f"runs 1 to {2 * period + 1}: {rows}",),
            settle="Look for what works in groups of "
            f"{period}: workers, buffers, checkpoints; change it, and the period follows.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=slow - quick,
        )


def common_period(view: View, arm: str, series: str) -> int | None:
    """Return the period that most launches show."""
    least = least_difference(view, arm)
    periods = [period_of(row, least) for row in walls(view, arm, series)]
    if not periods:
        return None
    period, _ = Counter(periods).most_common(1)[0]
    return period if period and mostly(found == period for found in periods) else None


def _nth(number: int) -> str:
    return {2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")
