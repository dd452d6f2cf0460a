"""One series over the launches of an arm: every paired quantity is made inside a launch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from statistics import median as middle
from typing import TYPE_CHECKING, NamedTuple

from coldsoak.model.result import Execution, Launch, SeriesSummary
from coldsoak.stats import estimate, steady

if TYPE_CHECKING:
    from coldsoak.model.estimate import Estimate, SteadyState

__all__ = ["Cold", "by_series", "cold", "executions_of", "first_ended", "summarise_series"]

FROM_STEADY = "against the steady tail of the same launch"
FROM_LATER = "against the median of the later runs of the same launch"


_BY_RUN = attrgetter("run", "start_ns")

Rows = Sequence[Sequence[Execution]]


class Cold(NamedTuple):
    """What being cold cost in one launch, against one baseline."""

    overhead: float
    """Seconds above the baseline in the runs before it."""
    ratio: float | None
    """Run 0 over the baseline; None when the baseline is 0."""
    baseline: float
    """Seconds of a warm run."""


def executions_of(launch: Launch, series: str) -> list[Execution]:
    """Return the executions of ``series`` in one launch, by run."""
    found = (execution for execution in launch.executions if execution.series == series)
    return sorted(found, key=_BY_RUN)


def by_series(launch: Launch) -> dict[str, list[Execution]]:
    """Return the executions of every series in one launch, by run."""
    found: dict[str, list[Execution]] = defaultdict(list)
    for execution in sorted(launch.executions, key=_BY_RUN):
        found[execution.series].append(execution)
    return dict(found)


def first_ended(launch: Launch) -> Execution | None:
    """Return the execution that ended first, whose end is the launch's first result."""
    return min(launch.executions, key=lambda one: (one.end_ns, one.run, one.series), default=None)


def cold(rows: Sequence[Sequence[float]], states: Sequence[SteadyState]) -> list[Cold]:
    """Return the cold overhead of each launch; launches without a baseline are left out.

    The baseline is the steady tail when at least 80 % of the launches have one: runs 0 to s-1
    minus s times the steady time. Otherwise it is the median of the later runs, and the overhead
    is run 0 minus that. All launches use the same kind of baseline.
    """
    if _steady_baseline(states):
        return [
            _against(sum(row[: state.start]), state.start, state.seconds, row[0])
            for row, state in zip(rows, states, strict=True)
            if state.start is not None and state.seconds is not None
        ]
    return [_against(row[0], 1, middle(row[1:]), row[0]) for row in rows if len(row) > 1]


def summarise_series(
    series: str, arm: str, timed: Rows, synced: Rows, *, after_stopping: bool = False
) -> SeriesSummary | None:
    """Summarise one series of one arm; None when no launch executed it.

    Args:
        series: Its id.
        arm: The arm's name.
        timed: Its executions by run, a row for each timed launch that has any.
        synced: The same of the synced launches.
        after_stopping: A stopping rule chose the number of launches.

    """
    rows = [[run.wall for run in runs] for runs in timed]
    if not rows:
        return None
    states = [steady.detect(row) for row in rows]
    common, counts = steady.common(states)
    starts = sorted(state.start for state in states if state.start is not None)
    lengths = sorted(map(len, rows))
    ready, ready_later = _ready(synced)
    over = partial(estimate.of_known, after_stopping=after_stopping, signed=True)
    with_tail = _steady_baseline(states)
    method = f"{estimate.METHOD}; {FROM_STEADY if with_tail else FROM_LATER}"
    costs = cold(rows, states)
    # The median of a single later run says nothing about its noise, so no overhead rests on it.
    enough = with_tail or all(len(row) != 2 for row in rows)
    return SeriesSummary(
        series=series,
        arm=arm,
        launches=len(rows),
        runs=(lengths[0], int(middle(lengths)), lengths[-1]),
        first=estimate.median([row[0] for row in rows], after_stopping=after_stopping),
        later=over(middle(row[1:]) for row in rows if len(row) > 1),
        steady=over(state.seconds for state in states) if with_tail else None,
        steady_class=common,
        steady_counts=counts,
        steady_start=(int(middle(starts)), starts[0], starts[-1]) if starts else (),
        overhead=over((cost.overhead for cost in costs), method=method) if enough else None,
        ratio=over((cost.ratio for cost in costs), unit="ratio", method=method),
        ready=ready,
        ready_later=ready_later,
    )


def _steady_baseline(states: Sequence[SteadyState]) -> bool:
    tails = sum(state.start is not None for state in states)
    return tails > 0 and tails >= steady.AGREEMENT * len(states)


def _against(spent: float, runs: int, baseline: float, first: float) -> Cold:
    return Cold(spent - runs * baseline, first / baseline if baseline else None, baseline)


def _ready(synced: Rows) -> tuple[Estimate | None, Estimate | None]:
    """Return run 0 and the later runs until the device was done, from synced launches."""
    rows = [
        [(run.ready_ns - run.start_ns) / 1e9 for run in runs if run.ready_ns is not None]
        for runs in synced
        if all(run.ready_ns is not None for run in runs)
    ]
    first = estimate.of_known(row[0] for row in rows)
    return first, estimate.of_known(middle(row[1:]) for row in rows if len(row) > 1)
