"""The clock was read before the device was done

The region ended while work that it had queued was still waiting or running on the device. What the
program's clock says is then the time that it takes to ask for the work, not the time of the work:
calls to a GPU, and to JAX on any device, return at once.

It fires when a trace saw the device busy with the later runs' work for at least a quarter of their
own time after they had ended. Where no trace saw the device, launches that wait for it at the end
of each region must show at least twice the time of those that do not.

Wait for the device before the second reading of the clock. The first run of a process hides the
mistake, because the process then waits for other things.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, TypeVar

from coldsoak.findings.advice import waiting_lines
from coldsoak.findings.words import runs_text, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "async-timing"
SEVERITY: Severity = "mistake"

LATER_THAN_ENDED = 0.25
"""Share of a run's own time by which its work must end later: less is the cost of waiting itself."""
SMALLEST_TAIL_S = 20e-6
"""Seconds below which a tail may be the difference between two clocks."""
SYNCED_SHARE = 0.5
"""Without a trace: the program's time is less than this share of the time with waiting."""
SMALLEST_WAIT_S = 0.2e-3
"""Without a trace: waiting for an idle card took 44 µs on an H200."""
SMALLEST_WAIT_JAX_S = 1e-3
"""The same for JAX, which is asked for every array: half a millisecond was seen."""

T = TypeVar("T")


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series whose device work outlasts its clock."""
    for arm, series, _ in view.each():
        own = [run.wall for row in view.runs(arm, series.id) for run in _later(row)]
        done = _seen(view, arm, series.id) if _traced(view, arm, series.id) else None
        if done is None and not _traced(view, arm, series.id):
            done = _waited(view, arm, series.id)
        if own and done is not None:
            yield _finding(view, arm, series, median(own), done)


def _later(row: list[T]) -> list[T]:
    return row[1:] or row


def _traced(view: View, arm: str, series: str) -> bool:
    """Tell whether a trace saw device work of the series: then it is the better witness."""
    return any(work.busy_ns for row in view.work(arm, series) for work in row)


def _seen(view: View, arm: str, series: str) -> float | None:
    """Return the seconds until a later run's work was done, where the trace saw it outlast."""
    pairs = []
    for launch in view.launches(arm, "traced"):
        works = [w for w in launch.facts.work if w.series == series] if launch.facts else []
        wall = {run.run: run.wall for run in view.executions(launch, series)}
        known = sorted((w for w in works if w.run in wall), key=lambda w: w.run)
        pairs += [(wall[work.run], work.tail_ns / 1e9) for work in _later(known)]
    if not pairs:
        return None
    own, tail = median(wall for wall, _ in pairs), median(tail for _, tail in pairs)
    if tail < max(LATER_THAN_ENDED * own, SMALLEST_TAIL_S):
        return None
    waited = [t for row in _ready(view, arm, series) for t in row]
    return median(waited) if waited else own + tail


def _waited(view: View, arm: str, series: str) -> float | None:
    """Return the seconds until the work was done, where waiting for it took most of the time."""
    rows = _ready(view, arm, series)
    own = [run.wall for row in view.runs(arm, series) for run in _later(row)]
    if not rows or not own:
        return None
    done = [t for row in rows for t in row]
    there = [run.wall for row in view.runs(arm, series, "synced") for run in _later(row)]
    longest = max(median(own), median(there))
    clear = longest < SYNCED_SHARE * median(done) and _upper(own) < min(done)
    least = SMALLEST_WAIT_JAX_S if "jax" in view.packages(arm) else SMALLEST_WAIT_S
    return median(done) if clear and median(done) - median(own) >= least else None


def _upper(own: list[float]) -> float:
    """Return the time that nine of ten runs stay below."""
    return sorted(own)[(9 * len(own)) // 10 - 1] if len(own) >= 10 else max(own)


def _ready(view: View, arm: str, series: str) -> list[list[float]]:
    rows = [
        [(r.ready_ns - r.start_ns) / 1e9 for r in _later(row) if r.ready_ns is not None]
        for row in view.runs(arm, series, "synced")
    ]
    return [row for row in rows if row]


def _finding(view: View, arm: str, series: Series, mine: float, done: float) -> Finding:
    file, line = view.place(series.end)
    busy = [w.busy_ns / 1e9 for row in view.work(arm, series.id) for w in _later(row)]
    count = max((len(row) for row in view.runs(arm, series.id)), default=1)
    evidence = [f"line {line}: {view.line(series.end)}"] if view.line(series.end) else []
    if busy and median(busy) > 0:
        evidence.append(f"the device is busy for {seconds_text(median(busy))} with each run's work")
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=(
            f"In {view.name(series.id)}, {runs_text(count)} time the launch "
            f"({seconds_text(mine)}); the work takes {seconds_text(done)}."
        ),
        evidence=tuple(evidence),
        advice=waiting_lines(view, arm, series),
        file=file,
        line=line,
        series=series.id,
        arm=arm,
        seconds=done - mine,
    )
