"""The command to type next: one that makes sense at this point, with the options that it needs."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.remedies.rank import LEAST_SHARE
from coldsoak.remedies.registry import REMEDIES
from coldsoak.report.ledger_table import STEADY, breakdowns
from coldsoak.report.select import failed, lead, looked_into

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.model.result import Result, SeriesSummary, Summary

__all__ = ["DEFAULT_RECIPE", "Reading", "next_step", "shown_path"]

DEFAULT_RECIPE = "coldsoak.recipe.toml"
"""What ``fix`` writes and ``exec`` reads unless it is told otherwise."""

INTERVAL_FROM = 6
"""Launches from which a 95 % interval of the median exists."""

SHORT_S = 300.0
"""Budget of trials below which a fix was asked for less than its default of 600 s."""

WORTH_FIXING_S = 0.02
"""At stake before a fix is suggested; ``fix`` itself tries what stakes a few milliseconds."""


@dataclass(frozen=True)
class Reading:
    """How a result is read."""

    reference: str = "last"
    """By which the reader can name it on a command line."""
    everything: bool = False
    """Of a fix: list the remedies that were not tried as well."""


def next_step(result: Result, reading: Reading | None = None) -> str:
    """Return the command that a reader of this result would most likely want next."""
    reading = reading or Reading()
    if result.kind == "fix":
        return _after_fix(result, reading)
    measured = [summary for summary in result.summaries if summary.n]
    if not measured:
        return _after_nothing(result)
    if any(summary.stopped_by == "failure" for summary in measured):
        return _after_failure(result)
    if not result.complete:
        return _again(result)
    return _after_measuring(result, measured) or f"coldsoak report {reading.reference} --markdown"


def shown_path(file: str) -> str:
    """Return a path as one would type it here."""
    try:
        return str(PurePath(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


def _after_nothing(result: Result) -> str:
    if result.kind == "bench" or not any(launch.log for launch in failed(result.launches)):
        return _again(result)
    return _again(result, _longer(result) or "--echo")


def _after_failure(result: Result) -> str:
    """Return what to try when launches failed, or were spoilt by the machine."""
    broken = any(one.status != "ok" or one.exit_code or one.signal for one in result.launches)
    spoilt = any(note.code == "too_many_invalid" for note in result.notes)
    if result.kind == "bench" or (spoilt and not broken):
        return "coldsoak doctor"
    failed_itself = any(launch.exit_code for launch in result.launches)
    return _again(result, _longer(result) or ("--ignore-failure" if failed_itself else "--echo"))


def _longer(result: Result) -> str:
    """Return the option for a command that did not end in time; else nothing."""
    late = any("timeout" in {one.status, one.ended_by} for one in result.launches)
    return f"--timeout {2 * result.options.timeout_s:g}" if late else ""


def _after_measuring(result: Result, measured: list[Summary]) -> str:
    summary = measured[0]
    if result.kind == "run":
        if _runs_once(result, summary, lead(result, summary)):
            return _again(result, "--rerun 5")
        if not result.options.trace:
            return _again(result)
        if _worth_fixing(result, measured):
            return f"coldsoak fix{_options(result)} -- {shlex.join(result.command)}"
    cause = _largest_cause(result, measured)
    if cause:
        return f"coldsoak explain {cause}"
    few = summary.n < INTERVAL_FROM and result.kind == "run"
    return _again(result, "--launches 10") if few else ""


def _runs_once(result: Result, summary: Summary, main: SeriesSummary | None) -> bool:
    """Return whether executing the script again would give later runs to compare with."""
    options = result.options
    script = looked_into(result, summary.arm) and options.until == "exit" and options.rerun == 1
    return script and main is not None and main.later is None


def _worth_fixing(result: Result, summaries: Iterable[Summary]) -> bool:
    """Whether enough is at stake for a remedy that ``fix`` tries by itself.

    Not for scripts of TensorFlow 1, and not for a command that has its recipe already.
    """
    tables = [table for summary in summaries for table in breakdowns(result, summary)]
    whole = [table for table in tables if table.scope != "region"] or tables
    if not whole or result.options.tf1 or "coldsoak" in map(_name, result.command[:3]):
        return False
    table = whole[0]
    least = max(WORTH_FIXING_S, LEAST_SHARE * table.seconds)
    stakes = {part.name: max(part.seconds, 0.0) for part in table.parts}
    return any(
        sum(stakes.get(str(cause), 0.0) for cause in remedy.causes) >= least
        for remedy in REMEDIES
        if not remedy.asked
    )


def _name(word: str) -> str:
    return PurePath(word).name


def _largest_cause(result: Result, summaries: Iterable[Summary]) -> str:
    """Return the cause with the most seconds in any region; else in the way to a first result."""
    skip = {STEADY, str(Cause.UNATTRIBUTED)}
    tables = [table for summary in summaries for table in breakdowns(result, summary)]
    regions = [table for table in tables if table.scope == "region"] or tables
    parts = [part for table in regions for part in table.parts if part.name not in skip]
    return max(parts, key=lambda part: part.seconds).name if parts else ""


def _again(result: Result, extra: str = "") -> str:
    """Return the command that measures the same once more."""
    if result.kind == "bench":
        return shlex.join(("coldsoak", *result.command))
    extra = f" {extra}" if extra else ""
    tf1 = " --tf1" if result.options.tf1 else ""
    return f"coldsoak run{extra}{_options(result)}{tf1} -- {shlex.join(result.command)}"


def _options(result: Result) -> str:
    """Return the options that ``run`` and ``fix`` have and without which they would do another thing."""
    options = result.options
    until = f" --until {shlex.quote(options.until)}" if options.until != "exit" else ""
    cold = f" --cold {','.join(options.cold)}" if options.cold != ("process",) else ""
    return until + cold


def _after_fix(result: Result, reading: Reading) -> str:
    command = shlex.join(result.command)
    if result.recipe is not None and result.recipe_file:
        file = shown_path(result.recipe_file)
        recipe = "" if file == DEFAULT_RECIPE else f" --recipe {shlex.quote(file)}"
        return f"coldsoak exec{recipe} -- {command}"
    if not result.complete:
        return f"coldsoak fix{_options(result)} -- {command}"
    unclear = any(
        trial.ratio is None or trial.ratio.verdict == "inconclusive"
        for trial in result.trials
        if trial.arm
    )
    if result.recipe is None and unclear:
        return f"coldsoak fix{_more(result)}{_options(result)} -- {command}"
    if not reading.everything and any(not trial.arm for trial in result.trials):
        return f"coldsoak report {reading.reference} --all"
    cause = _largest_cause(result, result.summaries)
    return f"coldsoak explain {cause}" if cause else f"coldsoak doctor -- {command}"


def _more(result: Result) -> str:
    """Return the option that gives the trials twice as much of what ended them, or the default."""
    if result.options.launches is not None:
        return f" --pairs {2 * result.options.launches}"
    if result.options.budget_s < SHORT_S:
        return ""
    return f" --budget {math.ceil(2 * result.options.budget_s / 10) * 10}"
