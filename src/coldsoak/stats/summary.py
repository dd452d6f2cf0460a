"""A result's numbers: one summary for each arm, from its valid timed launches."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median as middle
from typing import TYPE_CHECKING

from coldsoak.model.result import (
    Launch,
    LaunchKind,
    Note,
    Result,
    SeriesSummary,
    StoppedBy,
    Summary,
)
from coldsoak.stats import estimate, stopping
from coldsoak.stats.series import by_series, executions_of, first_ended, summarise_series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from coldsoak.model.estimate import Estimate
    from coldsoak.model.result import Execution

__all__ = ["FAILURES", "lead", "order_effect", "summarise", "trend", "usable"]

FAILURES = frozenset({"failed", "killed", "timeout", "not started"})
"""Statuses of a launch that gives no observation."""
ORDER_PAIRS = 6
"""Fewest pairs for the effect of the order inside a pair."""
TREND_ROUNDS = 6
"""Fewest rounds for a slope over them."""
SMALL_IMPORT_S = 1e-3
"""Packages whose median is below this are added up as ``(other)``."""
ASYNCHRONOUS = 1.01
"""A device that is done this much later than the region makes the region asynchronous."""


def summarise(
    result: Result, *, stopped_by: Mapping[str, StoppedBy] | None = None
) -> tuple[Summary, ...]:
    """Compute a summary for each arm of ``result``, in the order of its arms.

    Args:
        result: A result, complete or not.
        stopped_by: What stopped each arm, where the session knows; otherwise it is worked out
            from the options and the number of launches.

    """
    effect = order_effect(result)
    names = [arm.name for arm in result.arms] or sorted({one.arm for one in result.launches})
    return tuple(
        _summarise_arm(result, name, (stopped_by or {}).get(name), effect) for name in names
    )


def lead(rows: Iterable[SeriesSummary]) -> SeriesSummary | None:
    """Return the series to speak of first: the largest cold overhead, else the slowest run 0."""
    return max(
        rows,
        key=lambda row: (row.overhead.point if row.overhead else 0.0, row.first.point),
        default=None,
    )


def usable(launches: Iterable[Launch], arm: str, kind: LaunchKind = "timed") -> list[Launch]:
    """Return the launches of one arm and kind that count: not round 0, valid, and not failed."""
    return [
        launch
        for launch in launches
        if launch.arm == arm
        and launch.kind == kind
        and launch.round > 0
        and not launch.invalid
        and launch.status == "ok"
    ]


def trend(rounds: Sequence[int], seconds: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the Theil-Sen slope with its 95 % bounds, seconds a round; None below six rounds."""
    if len(set(rounds)) < TREND_ROUNDS:
        return None
    from scipy.stats import theilslopes

    slope = theilslopes(seconds, rounds, alpha=0.95)
    return float(slope[0]), float(slope[2]), float(slope[3])


def order_effect(result: Result) -> Estimate | None:
    """Estimate second / first inside the pairs of a two-arm result, on wall time.

    The effect of the arm itself is taken out first: half of the difference between the median
    log-ratios of the two orders. None below six pairs or three of either order.
    """
    arms = [arm.name for arm in result.arms]
    if len(arms) != 2:
        return None
    by_round: dict[int, dict[str, Launch]] = defaultdict(dict)
    for name in arms:
        for launch in usable(result.launches, name):
            by_round[launch.round][name] = launch
    pairs = [(pair[arms[0]], pair[arms[1]]) for pair in by_round.values() if len(pair) == 2]
    forward, backward = (
        [math.log(b.wall_ns / a.wall_ns) for a, b in pairs if (a.position < b.position) is ahead]
        for ahead in (True, False)
    )
    if len(pairs) < ORDER_PAIRS or min(len(forward), len(backward)) < ORDER_PAIRS // 2:
        return None
    arm = (middle(forward) + middle(backward)) / 2
    effects = [value - arm for value in forward] + [arm - value for value in backward]
    return estimate.median(
        [math.exp(value) for value in effects],
        unit="ratio",
        method=f"{estimate.METHOD}; second over first of a pair, effect of the arm removed",
    )


def _summarise_arm(
    result: Result, arm: str, stopped_by: StoppedBy | None, effect: Estimate | None
) -> Summary:
    timed = usable(result.launches, arm)
    synced = usable(result.launches, arm, "synced")
    mine = [one for one in result.launches if one.arm == arm and one.kind == "timed"]
    after = result.options.launches is None and stopping.chosen_by_rule(len(timed))
    series = _all_series(result, arm, timed, synced, after_stopping=after)
    wall = [launch.wall_ns / 1e9 for launch in timed]
    slope = _first_run_trend(timed, series)
    return Summary(
        arm=arm,
        n=len(timed),
        discarded=sum(one.round == 0 for one in mine),
        invalid=sum(one.round > 0 and bool(one.invalid) for one in mine),
        failed=sum(one.round > 0 and one.status in FAILURES and not one.invalid for one in mine),
        stopped_by=stopped_by or _worked_out(result, timed, series),
        wall=estimate.of_known(wall, after_stopping=after),
        first_result=_first_result(timed, synced, after_stopping=after),
        phases=_phases(timed, after_stopping=after),
        imports=_imports(timed, after_stopping=after),
        series=series,
        order_effect=effect,
        trend=None if slope is None else slope[0],
        notes=tuple(_notes(timed, series, effect, slope)),
    )


def _all_series(
    result: Result,
    arm: str,
    timed: Sequence[Launch],
    synced: Sequence[Launch],
    *,
    after_stopping: bool,
) -> tuple[SeriesSummary, ...]:
    rows, waited = _rows(timed), _rows(synced)
    found = (
        summarise_series(
            series.id,
            arm,
            rows.get(series.id, ()),
            waited.get(series.id, ()),
            after_stopping=after_stopping,
        )
        for series in sorted(result.series, key=lambda series: series.order)
    )
    return tuple(summary for summary in found if summary is not None)


def _rows(launches: Iterable[Launch]) -> dict[str, list[list[Execution]]]:
    """Return by series its executions, a row for each launch that has any."""
    rows: dict[str, list[list[Execution]]] = defaultdict(list)
    for launch in launches:
        for series, runs in by_series(launch).items():
            rows[series].append(runs)
    return rows


def _first_result(
    timed: Sequence[Launch], synced: Sequence[Launch], *, after_stopping: bool
) -> Estimate | None:
    """Spawn to the first end of a region; where that is asynchronous, until the device is done."""
    ended = [first / 1e9 for first, _ in map(_first_end, timed) if first is not None]
    late = [
        (first, ready)
        for first, ready in map(_first_end, synced)
        if first is not None and ready is not None
    ]
    if late and middle(ready - ASYNCHRONOUS * first for first, ready in late) > 0:
        method = f"{estimate.METHOD}; the device was waited for, in launches of their own"
        return estimate.of_known([ready / 1e9 for _, ready in late], method=method)
    return estimate.of_known(ended, after_stopping=after_stopping)


def _first_end(launch: Launch) -> tuple[int | None, int | None]:
    """Return when the first region ended and when the device was done, in ns since the spawn.

    A time namespace gives the program another clock: what then lies before the spawn is 0.
    """
    first = first_ended(launch)
    if first is None:
        return None, None
    ready = None if first.ready_ns is None else max(first.ready_ns, 0)
    return max(first.end_ns, 0), ready


def _phases(timed: Sequence[Launch], *, after_stopping: bool) -> dict[str, Estimate]:
    """Sum the stretches of the first process by kind, then take medians over launches."""
    rows = [
        _total((stretch.kind, stretch.ns) for stretch in launch.processes[0].stretches)
        for launch in timed
        if launch.processes and launch.processes[0].stretches
    ]
    kinds = ("start", "agent", "import", "script", "region", "between", "exit")
    return {
        kind: estimate.median([row.get(kind, 0.0) for row in rows], after_stopping=after_stopping)
        for kind in kinds
        if any(kind in row for row in rows)
    }


def _imports(timed: Sequence[Launch], *, after_stopping: bool) -> dict[str, Estimate]:
    """Take medians of each package's own import time; small packages are added up first."""
    rows = [
        _total((cost.package, cost.self_ns) for cost in launch.processes[0].imports)
        for launch in timed
        if launch.processes
    ]
    names = {name for row in rows for name in row}
    typical = {name: middle(row.get(name, 0.0) for row in rows) for name in names}
    large = sorted(
        (name for name in names if typical[name] >= SMALL_IMPORT_S), key=lambda name: typical[name]
    )
    columns = {name: [row.get(name, 0.0) for row in rows] for name in reversed(large)}
    if len(large) < len(names):
        columns["(other)"] = [
            sum(seconds for name, seconds in row.items() if name not in columns) for row in rows
        ]
    return {
        name: estimate.median(column, after_stopping=after_stopping)
        for name, column in columns.items()
    }


def _total(parts: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Add up nanoseconds by name, as seconds."""
    sums: dict[str, int] = defaultdict(int)
    for name, ns in parts:
        sums[name] += ns
    return {name: ns / 1e9 for name, ns in sums.items()}


def _worked_out(
    result: Result, timed: Sequence[Launch], series: Sequence[SeriesSummary]
) -> StoppedBy:
    if not timed:
        return "failure" if result.launches else "interrupted"
    if not result.complete:
        return "interrupted"
    if result.options.launches is not None:
        return "fixed"
    head = _first_runs(timed, series)
    width = estimate.half_width(estimate.median(head))
    if len(timed) in stopping.ARM_LOOKS and width is not None and width <= result.options.target:
        return "target"
    return "maximum" if len(timed) >= stopping.ARM_LOOKS[-1] else "budget"


def _first_runs(timed: Sequence[Launch], series: Sequence[SeriesSummary]) -> list[float]:
    """Return the headline observation of each launch: run 0 of the first series, else the wall."""
    if series:
        rows = (executions_of(launch, series[0].series) for launch in timed)
        return [row[0].wall for row in rows if row]
    return [launch.wall_ns / 1e9 for launch in timed]


def _first_run_trend(
    timed: Sequence[Launch], series: Sequence[SeriesSummary]
) -> tuple[float, float, float] | None:
    if not series:
        return trend([one.round for one in timed], _first_runs(timed, series))
    ran = [one for one in timed if executions_of(one, series[0].series)]
    return trend([one.round for one in ran], _first_runs(ran, series))


def _notes(
    timed: Sequence[Launch],
    series: Sequence[SeriesSummary],
    effect: Estimate | None,
    slope: tuple[float, float, float] | None,
) -> Iterable[Note]:
    if not timed:
        return
    head = _first_runs(timed, series)
    if len(head) >= estimate.minimum_n(0.95) and _is_outlier(head, 0):
        yield Note(
            code="first-launch",
            text="The first measured launch differs from the others; the discarded launch before "
            "it was not enough.",
        )
    else:
        yield from _drift(timed, estimate.median(head), slope)
    if effect is not None and _excludes(effect, 1):
        yield Note(
            code="order",
            text=f"The second launch of a pair takes {effect.point:.2f} times the first: "
            "one warms something for the other. Try --cold cache.",
        )


def _drift(
    timed: Sequence[Launch], head: Estimate, slope: tuple[float, float, float] | None
) -> Iterable[Note]:
    """Warn where the slope is real and what it adds over the session exceeds the half-width."""
    if slope is None or head.low is None or head.high is None or slope[1] <= 0 <= slope[2]:
        return
    rounds = [launch.round for launch in timed]
    drift = slope[0] * (max(rounds) - min(rounds))
    if abs(drift) > (head.high - head.low) / 2:
        way = "longer" if drift > 0 else "shorter"
        yield Note(
            code="drift",
            text=f"Run 0 grew {way} by {abs(drift):.3g} s over the session, more than the interval "
            "shows: the machine changed while it was measured.",
        )


def _excludes(found: Estimate, value: float) -> bool:
    return found.low is not None and found.high is not None and not found.low <= value <= found.high


def _is_outlier(values: Sequence[float], index: int) -> bool:
    return (
        estimate.count_outliers(values)
        > estimate.count_outliers([value for place, value in enumerate(values) if place != index])
        and _most_extreme(values) == index
    )


def _most_extreme(values: Sequence[float]) -> int:
    centre = middle(values)
    return max(range(len(values)), key=lambda place: abs(values[place] - centre))
