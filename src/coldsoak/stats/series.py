"""One series over the launches of an arm: every paired quantity is made inside a launch."""

from __future__ import annotations

from statistics import median as middle
from typing import TYPE_CHECKING, NamedTuple

from coldsoak.model.result import Execution, Launch, SeriesSummary
from coldsoak.stats import estimate, steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.estimate import Estimate, SteadyState, Unit

__all__ = ["Cold", "cold", "executions_of", "first_ended", "runs_of", "summarise_series"]

FROM_STEADY = "against the steady tail of the same launch"
FROM_LATER = "against the median of the later runs of the same launch"


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
    return sorted(found, key=lambda execution: execution.run)


def first_ended(launch: Launch) -> Execution | None:
    """Return the execution that ended first, whose end is the launch's first result."""
    return min(launch.executions, key=lambda one: (one.end_ns, one.run, one.series), default=None)


def runs_of(launches: Sequence[Launch], series: str) -> list[list[float]]:
    """Return one row of wall seconds, by run, for each launch that executed ``series``."""
    rows = ([run.wall for run in executions_of(launch, series)] for launch in launches)
    return [row for row in rows if row]


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
    series: str,
    arm: str,
    timed: Sequence[Launch],
    synced: Sequence[Launch],
    *,
    after_stopping: bool = False,
) -> SeriesSummary | None:
    """Summarise one series of one arm; None when no launch executed it."""
    rows = runs_of(timed, series)
    if not rows:
        return None
    states = [steady.detect(row) for row in rows]
    common, counts = steady.common(states)
    costs = cold(rows, states)
    with_tail = _steady_baseline(states)
    baseline = FROM_STEADY if with_tail else FROM_LATER
    # The median of a single later run says nothing about its noise, so no overhead rests on it.
    enough = with_tail or all(len(row) != 2 for row in rows)
    method = f"{estimate.METHOD}; {baseline}"
    starts = sorted(state.start for state in states if state.start is not None)
    lengths = sorted(map(len, rows))
    ready, ready_later = _ready(synced, series)

    def over(
        values: Sequence[float | None], unit: Unit = "s", text: str = estimate.METHOD
    ) -> Estimate | None:
        known = [value for value in values if value is not None]
        return (
            estimate.median(
                known, after_stopping=after_stopping, unit=unit, signed=True, method=text
            )
            if known
            else None
        )

    return SeriesSummary(
        series=series,
        arm=arm,
        launches=len(rows),
        runs=(lengths[0], int(middle(lengths)), lengths[-1]),
        first=estimate.median([row[0] for row in rows], after_stopping=after_stopping),
        later=over([middle(row[1:]) for row in rows if len(row) > 1]),
        steady=over([state.seconds for state in states]) if with_tail else None,
        steady_class=common,
        steady_counts=counts,
        steady_start=(int(middle(starts)), starts[0], starts[-1]) if starts else (),
        overhead=over([cost.overhead for cost in costs], text=method) if enough else None,
        ratio=over([cost.ratio for cost in costs], "ratio", method),
        ready=ready,
        ready_later=ready_later,
    )


def _steady_baseline(states: Sequence[SteadyState]) -> bool:
    tails = sum(state.start is not None for state in states)
    return tails > 0 and tails >= steady.AGREEMENT * len(states)


def _against(spent: float, runs: int, baseline: float, first: float) -> Cold:
    return Cold(spent - runs * baseline, first / baseline if baseline else None, baseline)


def _ready(synced: Sequence[Launch], series: str) -> tuple[Estimate | None, Estimate | None]:
    """Return run 0 and the later runs until the device was done, from synced launches."""
    rows = [
        [(run.ready_ns - run.start_ns) / 1e9 for run in runs if run.ready_ns is not None]
        for runs in (executions_of(launch, series) for launch in synced)
        if runs and all(run.ready_ns is not None for run in runs)
    ]
    if not rows:
        return None, None
    later = [middle(row[1:]) for row in rows if len(row) > 1]
    return estimate.median([row[0] for row in rows]), estimate.median(later) if later else None
