"""When a card pays against the CPU, its first run included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.report.numbers import show
from coldsoak.report.select import case_words, lead, timed
from coldsoak.report.sheet import Column, Sheet
from coldsoak.stats import breakeven, steady
from coldsoak.stats.series import cold, executions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.model.result import Arm, Case, Launch, Result
    from coldsoak.stats.breakeven import BreakEven
    from coldsoak.stats.series import Cold

__all__ = ["break_even_sheet", "pairs_of_devices", "verdict"]


def break_even_sheet(result: Result) -> Sheet | None:
    """Return for each computation on two devices from which run on the card pays."""
    rows = tuple(
        (*case_words(gpu.case), verdict(_between(result, cpu, gpu)))
        for cpu, gpu in pairs_of_devices(result)
        if gpu.case
    )
    columns = (
        Column("framework"),
        Column("mode"),
        Column("device"),
        Column("shape", right=True),
        Column("pays against the CPU"),
    )
    return (
        Sheet("From which run on the card pays, its first run included", columns, rows)
        if rows
        else None
    )


def pairs_of_devices(result: Result) -> Iterator[tuple[Arm, Arm]]:
    """Yield (CPU arm, other arm) for arms that differ in nothing but the device."""
    arms = [arm for arm in result.arms if arm.case]
    on_cpu = {_but_device(arm.case): arm for arm in arms if arm.case and arm.case.device == "cpu"}
    for arm in arms:
        if arm.case and arm.case.device != "cpu" and _but_device(arm.case) in on_cpu:
            yield on_cpu[_but_device(arm.case)], arm


def _but_device(case: Case) -> tuple[object, ...]:
    shape = tuple(sorted(case.shape.items()))
    return case.workload, case.framework, case.compiler, shape, case.dtype, case.inner


def verdict(found: BreakEven) -> str:
    """Return the answer in words, with its bounds."""
    if found.kind in {"always", "never"}:
        return found.kind
    if found.runs is None:
        return f"undetermined from {found.n} pairs"
    bounds = ""
    if found.low is not None and found.high is not None:
        bounds = f" ({show(found.low, 0)} … {show(found.high, 0)})"
    run = show(found.runs, 0)
    return (f"from run {run} on" if found.kind == "after" else f"up to run {run}") + bounds


def _between(result: Result, cpu: Arm, gpu: Arm) -> BreakEven:
    mine, theirs = _costs(result, cpu), _costs(result, gpu)
    rounds = sorted(set(mine) & set(theirs))
    return breakeven.between(
        [mine[r].overhead for r in rounds],
        [mine[r].baseline for r in rounds],
        [theirs[r].overhead for r in rounds],
        [theirs[r].baseline for r in rounds],
    )


def _costs(result: Result, arm: Arm) -> dict[int, Cold]:
    """Return by round what being cold cost in it; rounds without later runs are left out."""
    summary = next((one for one in result.summaries if one.arm == arm.name), None)
    series = lead(result, summary) if summary else None
    if series is None:
        return {}
    launches = [one for one in timed(result, arm.name) if len(_walls(one, series.series)) > 1]
    rows = [_walls(launch, series.series) for launch in launches]
    states = [steady.detect(row) for row in rows]
    costs = cold(rows, states)
    if len(costs) != len(launches):  # a launch without the steady tail that the others have
        costs = cold(rows, [])
    return {launch.round: cost for launch, cost in zip(launches, costs, strict=True)}


def _walls(launch: Launch, series: str) -> list[float]:
    return [run.wall for run in executions_of(launch, series)]
