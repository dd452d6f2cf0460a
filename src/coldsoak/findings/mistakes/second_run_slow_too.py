"""The second run is slow too

Not only run 0 but also run 1 takes far longer than the runs after it, so that one warm-up run is
not enough. TorchScript, CUDA graphs, XLA command buffers, JAX's weak types and ONNX Runtime's arena
all do part of their work on the second call.

It fires when run 1 takes at least twice as long as nine of ten runs after it and a millisecond more
(150 ms where other work was taking the machine), in four of five launches with at least four runs.

Warm up until the times agree, not once.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.mistakes.periodic import common_period
from coldsoak.findings.patterns import high, later_median, least_difference, mostly, walls
from coldsoak.findings.words import seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "second-run-slow-too"
SEVERITY: Severity = "warning"

TIMES = 2.0
"""Run 1 over the runs after it: below, caches and the scheduler suffice as an explanation."""
RUNS = 4


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series whose run 1 is cold as well."""
    for arm, series, _ in view.each():
        rows = [row for row in walls(view, arm, series.id) if len(row) >= RUNS]
        if not mostly(_slow(row, least_difference(view, arm)) for row in rows) or common_period(
            view, arm, series.id
        ):
            continue
        first, second = median(row[0] for row in rows), median(row[1] for row in rows)
        later = median(later_median(row, 2) for row in rows)
        settled = _settled(view.typical(arm, series.id), later)
        file, line = view.place(series.start)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Run 1 of {view.name(series.id)} still takes {seconds_text(second)}, the runs "
                f"after it {seconds_text(later)}: one warm-up run is not enough."
            ),
            evidence=(f"run 0 takes {seconds_text(first)}",),
            advice=(f"Leave out the first {settled} runs.",),
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=second - later,
        )


def _slow(row: list[float], least: float) -> bool:
    return row[1] >= max(TIMES * high(row[2:]), later_median(row, 2) + least)


def _settled(runs: list[float], later: float) -> int:
    """Return the first run from which three in a row are no longer slow."""
    quick = [run < TIMES * later for run in runs]
    return next((i for i in range(2, len(runs)) if all(quick[i : i + 3])), 2)
