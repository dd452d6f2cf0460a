"""The answer in one sentence of plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.words import plural
from coldsoak.report.fix import fix_headline
from coldsoak.report.hypotheses import main_cause
from coldsoak.report.numbers import duration, quantity
from coldsoak.report.select import arm_of, failed, goal, lead, looked_into, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.estimate import Estimate
    from coldsoak.model.result import Result, SeriesSummary, Summary

__all__ = ["headline"]

WORTH_NAMING = 1.05
"""Ratio of run 0 to later runs below which there is no first-run cost to speak of."""


def headline(result: Result) -> str:
    """Return what ``result`` says, as one sentence: about the first run, or what a fix gained."""
    if result.kind == "fix":
        return fix_headline(result)
    measured = [summary for summary in result.summaries if summary.n]
    if not measured:
        return _nothing(result)
    if result.kind == "bench":
        return _bench(result, measured)
    said = _run(result, measured[0])
    if measured[0].stopped_by == "failure" and any(one.code == "salvaged" for one in result.notes):
        return f"The command failed; until then, {said[0].lower()}{said[1:]}"
    return said


def _run(result: Result, summary: Summary) -> str:
    main = lead(result, summary)
    if main is None:
        return _no_region(result, summary)
    several = len(summary.series) > 1
    subject = f"The first run of {spoken(result, main.series)}"
    cause = main_cause(result, summary)
    return _series(result, subject if several else "The first run", main, cause)


def _nothing(result: Result) -> str:
    count = len(result.launches)
    broken = len(failed(result.launches))
    if not broken and any(one.status == "interrupted" for one in result.launches):
        return "Interrupted before anything was measured."
    if not count:
        return "Nothing has been measured yet."
    return f"Nothing could be measured: {broken} of {plural(count, 'launch', 'launches')} failed."


def _no_region(result: Result, summary: Summary) -> str:
    if summary.wall is None:
        return (
            "The program's own code reads no clock and it did not end: there is no figure for it."
        )
    end = "to exit" if goal(result) == "exit" else f"until {goal(result)} is met"
    took = f"The program takes {quantity(summary.wall)} from start {end}"
    if not looked_into(result, summary.arm):
        return f"{took}; it could not be looked into, so that is all there is to know."
    if _is_inline(result.command):
        return (
            f"{took}; code that is in no file is not looked into: in one, its clock readings are."
        )
    return f"{took}; its own code reads no clock, so there is no region to compare a first run in."


def _is_inline(command: Sequence[str]) -> bool:
    """Tell whether an interpreter gets its program on the command line or from its input."""
    for word in command[1:]:
        if not word.startswith("-"):
            return False
        if word in {"-c", "-"}:
            return True
    return False


def _series(result: Result, subject: str, series: SeriesSummary, cause: str = "") -> str:
    first = f"{subject} takes {quantity(series.first)}"
    later = series.steady or series.later
    if later is None:
        return f"{first}, and there is no later run in the process to compare it with."
    if not _is_slow(series):
        return f"{first} and later runs {quantity(later)}: no first-run cost worth naming."
    text = f"{first}, later runs {quantity(later)}{_ready(result, series)}: {_paid(series, later)}"
    if cause:
        text += f", {cause}"
    if series.steady_class == "no steady state":
        text += "; the later runs never settle"
    elif series.steady_start and series.steady_start[0] > 1:
        text += f"; it takes {series.steady_start[0]} runs to settle"
    return text + "."


def _is_slow(series: SeriesSummary) -> bool:
    ratio, overhead = series.ratio, series.overhead
    if overhead is not None and overhead.low is not None and overhead.low <= 0:
        return False
    if ratio is not None:
        return ratio.point >= WORTH_NAMING
    return overhead is not None and overhead.point > 0


def _paid(series: SeriesSummary, later: Estimate) -> str:
    # the overhead is negative when the runs after the first were quicker than the steady ones
    whole = series.overhead if series.overhead and series.overhead.point > 0 else None
    seconds = quantity(whole) if whole else duration(series.first.point - later.point)
    return f"{seconds} are paid once per process"


def _ready(result: Result, series: SeriesSummary) -> str:
    """Tell when the program's own clock stops before the device does."""
    ready = series.ready_later or series.ready
    early = any(f.code == "async-timing" and f.series == series.series for f in result.findings)
    if ready is None or not early:
        return ""
    return f" ({quantity(ready)} until the device is done)"


def _bench(result: Result, measured: list[Summary]) -> str:
    found = [(s, m) for s in measured if (m := lead(result, s)) is not None]
    if not found:
        return _no_region(result, measured[0])
    summary, worst = max(found, key=lambda pair: (pair[1].overhead or pair[1].first).point)
    cause = main_cause(result, summary)
    text = _series(
        result, f"The first run of {_arm_name(result, summary.arm)}", worst, cause
    ).rstrip(".")
    reached = [s for s in measured if s.first_result is not None]
    if len(reached) < 2:
        return text + "."
    quickest = min(reached, key=lambda s: s.first_result.point if s.first_result else 0.0)
    return (
        f"{text}; {_arm_name(result, quickest.arm)} has a first result soonest, "
        f"{quantity(quickest.first_result)} after the start."
    )


def _arm_name(result: Result, name: str) -> str:
    """Name an arm of a bench by what tells it from the others."""
    arm = arm_of(result, name)
    if arm is None or arm.case is None:
        return name
    cases = [other.case for other in result.arms if other.case]
    case = arm.case
    ways = {other.compiler for other in cases if other.framework == case.framework}
    plain = case.compiler in {"", "eager"} and len(ways) == 1
    text = case.framework if plain else f"{case.framework} with {case.compiler or 'no compiler'}"
    if len({other.device for other in cases}) > 1:
        text += f" on {case.device}"
    sizes = " × ".join(str(size) for size in dict.fromkeys(case.shape.values()))
    if sizes and len({tuple(other.shape.values()) for other in cases}) > 1:
        text += f" at size {sizes}"
    return text
