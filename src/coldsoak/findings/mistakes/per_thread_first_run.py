"""Each new thread has a first run of its own

The first run on a thread that had not run the region before is slow, although other threads had
run it: handles, plans and contexts are kept for each thread. A warm-up in the main thread does not
warm the workers.

It fires when the first runs on threads other than the first one take at least twice as long as the
repeated runs on the same threads, and a millisecond more (150 ms where other work was taking the
machine), with two such threads or more, in four of five launches.

Warm up in each worker, or keep to one thread for the device.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import least_difference, mostly
from coldsoak.findings.words import seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Execution

CODE = "per-thread-first-run"
SEVERITY: Severity = "warning"

TIMES = 2.0
THREADS = 2


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series whose cost comes back on new threads."""
    for arm, series, _ in view.each():
        found = [split for row in view.runs(arm, series.id) if (split := _split(row))]
        least = least_difference(view, arm)
        if not mostly(a >= max(TIMES * b, b + least) for a, b, _ in found):
            continue
        first, again = median(f[0] for f in found), median(f[1] for f in found)
        threads = int(median(f[2] for f in found))
        file, line = view.place(series.start)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"The first run of {view.name(series.id)} on each of {threads} further threads "
                f"takes {seconds_text(first)}, a repeated run there {seconds_text(again)}."
            ),
            advice=("Warm up in each worker thread, not in the main thread.",),
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=threads * (first - again),
        )


def _split(row: Sequence[Execution]) -> tuple[float, float, int] | None:
    """Return the medians of first and of repeated runs on later threads, and their number."""
    seen: dict[tuple[int, int], int] = {}
    first: list[float] = []
    again: list[float] = []
    lead = (row[0].pid, row[0].thread)
    for run in sorted(row, key=lambda run: run.start_ns):
        thread = run.pid, run.thread
        if thread != lead and run.pid == lead[0]:
            (again if thread in seen else first).append(run.wall)
        seen[thread] = seen.get(thread, 0) + 1
    if len(first) < THREADS or not again:
        return None
    return median(first), median(again), len(first)
