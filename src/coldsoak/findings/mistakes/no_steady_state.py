"""The later runs never settle

The times of the later runs keep changing until the end of the process, so that there is no figure
that deserves to be called "the" time of a run. A mean over them says more about the moment at which
the program stopped than about the program.

It fires when change-point detection finds no steady tail in at least four of five launches, with
20 runs or more after the first, when the slow tenth of the later runs takes at least 1.3 times as
long as the quick tenth, no period explains it, and other work left the machine alone.

Look for work that grows (lists, caches, graphs that are built again), for other threads of the
program, and for clocks that fall with heat.
"""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING

from coldsoak.findings.mistakes.periodic import common_period
from coldsoak.findings.patterns import busy_machine, walls
from coldsoak.findings.words import seconds_text
from coldsoak.model.finding import Finding
from coldsoak.stats.steady import MINIMUM_RUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "no-steady-state"
SEVERITY: Severity = "warning"

SPREAD = 1.3
"""Slow over quick tenth of the later runs below which nobody would be misled."""
LAUNCHES = 3
"""Launches that must have been looked at."""


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series that never settles."""
    for arm, series, summary in view.each():
        if summary.steady_class != "no steady state" or summary.launches < LAUNCHES:
            continue
        if busy_machine(view, arm) or common_period(view, arm, series.id):
            continue
        rows = [row for row in walls(view, arm, series.id) if len(row) > MINIMUM_RUNS]
        tenths = [quantiles(row[1:], n=10) for row in rows]
        quick, slow = median(t[0] for t in tenths), median(t[-1] for t in tenths)
        if slow < SPREAD * quick:
            continue
        file, line = view.place(series.start)
        agree = summary.steady_counts.get("no steady state", 0)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"The later runs of {view.name(series.id)} never settle: between "
                f"{seconds_text(quick)} and {seconds_text(slow)}, changing until the end."
            ),
            evidence=(f"no steady tail in {agree} of {summary.launches} launches",),
            confidence="likely",
            settle="More runs in a process would show whether it settles later.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
        )
