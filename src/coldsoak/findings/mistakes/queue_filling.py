"""The first runs are too quick: a queue was filling up

The early runs only put work into a queue and return at once; when the queue is full, each run has
to wait for an older one, and its time jumps to that of the work. Neither the quick runs nor their
mean with the slow ones is the time of a run.

It fires when, in four of five launches, the later half takes at least twice as long as the quick
runs 1 to 3, with one step between them, and the program computes on a device with a queue: the
trace saw work outlast the runs, or the framework is JAX, which queues on the CPU as well.

Wait for the device inside the region.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.advice import framework_of, waiting_lines
from coldsoak.findings.patterns import least_difference, mostly, walls
from coldsoak.findings.words import seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "queue-filling"
SEVERITY: Severity = "mistake"

TIMES = 2.0
"""Later half over the first runs; caches that fill up make less."""
EARLY = slice(1, 4)
RUNS = 12
"""Runs below which a step cannot be told from a few slow runs."""


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series that begins with runs that only queue."""
    for arm, series, _ in view.each():
        rows = [row for row in walls(view, arm, series.id) if len(row) >= RUNS]
        if not mostly(_steps_up(row, least_difference(view, arm)) for row in rows):
            continue
        outlasts = any(w.tail_ns > 0 for row in view.work(arm, series.id) for w in row[1:4])
        jax = framework_of(view, arm, view.source(view.place(series.start)[0])) == "jax"
        if not outlasts and not jax:
            continue
        early = median(median(row[EARLY]) for row in rows)
        late = median(median(row[len(row) // 2 :]) for row in rows)
        file, line = view.place(series.end)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Runs 1 to 3 of {view.name(series.id)} take {seconds_text(early)}, the later "
                f"half {seconds_text(late)}: the early runs only queue their work."
            ),
            evidence=("the trace saw work outlast the early runs",) if outlasts else (),
            advice=waiting_lines(view, arm, series),
            confidence="measured" if outlasts else "likely",
            settle="" if outlasts else "Waiting inside the region would make all runs alike.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=late - early,
        )


def _steps_up(row: list[float], least: float) -> bool:
    """Tell whether the later half is slow throughout and the runs before the step quick."""
    early, late = median(row[EARLY]), median(row[len(row) // 2 :])
    if late < max(TIMES * early, early + least):
        return False
    middle = (early * late) ** 0.5
    step = next((i for i, run in enumerate(row[1:], start=1) if run > middle), len(row))
    after = row[step:]
    return step > 3 and sum(run > middle for run in after) >= 0.8 * len(after)
