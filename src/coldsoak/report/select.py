"""Questions that every report asks a result."""

from __future__ import annotations

import shlex
import statistics
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING

from coldsoak.stats import summary as summaries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from coldsoak.model.result import Arm, Case, Launch, Result, Series, SeriesSummary, Summary

__all__ = [
    "arm_of",
    "bare",
    "by_order",
    "caller_of",
    "case_of",
    "case_words",
    "command_line",
    "ended",
    "failed",
    "goal",
    "label_of",
    "lead",
    "looked_into",
    "name_of",
    "once_told",
    "series_by_id",
    "spoken",
    "timed",
    "typical",
]


def series_by_id(result: Result) -> dict[str, Series]:
    """Return the series of ``result`` by id."""
    return {series.id: series for series in result.series}


def arm_of(result: Result, name: str) -> Arm | None:
    """Return the arm called ``name``."""
    return next((arm for arm in result.arms if arm.name == name), None)


def label_of(series: Series) -> str:
    """Return the label without the case, which tables give columns of its own."""
    suffix = "".join(f" {name}={value}" for name, value in series.case.items())
    return series.label.removesuffix(suffix) if suffix else series.label


def name_of(series: Series | None) -> str:
    """Return the label of a series with its case: ``time_matmul (demo.py:8-11) device=GPU:0``."""
    if series is None:
        return "region"
    return " ".join(part for part in (label_of(series), case_of(series)) if part)


def spoken(result: Result, identifier: str) -> str:
    """Return a series as a sentence names it: ``time_matmul with device=GPU:0``.

    Of its case only what tells it from the other series is said.
    """
    series = series_by_id(result).get(identifier)
    if series is None:
        return "the region"
    subject = label_of(series).partition(" (")[0]
    kin = [other for other in result.series if label_of(other) == label_of(series)]
    telling = {
        key: value
        for key, value in once_told(series, kin).items()
        if any(other.case.get(key) != value for other in kin)
    }
    if telling:
        subject += f" with {_joined(telling)}"
    caller = caller_of(result, series)
    return f"{subject} called at {caller}" if caller else subject


def once_told(series: Series, kin: Sequence[Series]) -> dict[str, str]:
    """Return the case of a series without values that are another name for an earlier one.

    Args:
        series: Of the region that all of ``kin`` are of.
        kin: A value is left out when it equals the earlier one in all of them.

    """
    told: dict[str, str] = {}
    for key, value in series.case.items():
        if not any(all(o.case.get(key) == o.case.get(one) for o in kin) for one in told):
            told[key] = value
    return told


def caller_of(result: Result, series: Series) -> str:
    """Return ``file.py:17``, the call by which alone a series differs from another; else nothing."""
    for other in result.series:
        same = label_of(other) == label_of(series) and other.case == series.case
        if other.id == series.id or not same:
            continue
        for mine, theirs in zip_longest(series.stack, other.stack):
            if mine is not None and mine != theirs:
                return f"{PurePath(mine.file).name}:{mine.line}"
    return ""


def case_of(series: Series) -> str:
    """Return the values that tell a series from its neighbours: ``device=/GPU:0, shape=(50, 50)``."""
    return _joined(series.case)


def _joined(case: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={bare(value)}" for key, value in case.items())


def bare(text: str) -> str:
    """Return the repr of a string without its quotes; anything else as it is."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def case_words(case: Case) -> tuple[str, str, str, str]:
    """Return what a bench case computes with: framework, mode, device, shape."""
    shape = " × ".join(str(size) for size in dict.fromkeys(case.shape.values()))
    return case.framework, case.compiler or "eager", case.device, shape or "–"


def by_order(result: Result, summary: Summary) -> list[SeriesSummary]:
    """Return the series of ``summary`` in the order in which the program first reached them."""
    known = series_by_id(result)
    last = len(known)
    return sorted(
        summary.series, key=lambda s: known[s.series].order if s.series in known else last
    )


def lead(result: Result, summary: Summary) -> SeriesSummary | None:
    """Return the series to speak of first: the largest cold overhead, else the slowest run 0."""
    return summaries.lead(by_order(result, summary))


def timed(result: Result, arm: str) -> list[Launch]:
    """Return the launches of ``arm`` that statistics are made of: timed, ok, valid, not round 0."""
    return [
        launch
        for launch in result.launches
        if launch.arm == arm
        and launch.kind == "timed"
        and launch.status == "ok"
        and launch.round > 0
        and not launch.invalid
    ]


def command_line(argv: Sequence[str], width: int = 200) -> str:
    """Return a command as one would type it, on one line and of at most ``width`` characters."""
    text = shlex.join(argv).replace("\n", "↵")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def failed(launches: Iterable[Launch]) -> list[Launch]:
    """Return the launches that ended in another way than asked, by themselves."""
    return [launch for launch in launches if launch.status not in {"ok", "interrupted"}]


def looked_into(result: Result, arm: str) -> bool:
    """Return whether the agent was in any interpreter of the timed launches."""
    return any(launch.processes for launch in timed(result, arm))


def ended(result: Result) -> bool:
    """Tell whether any launch was left to end."""
    return any(launch.status != "interrupted" for launch in result.launches)


def goal(result: Result) -> str:
    """Return what ends a launch, in the words of tables: ``exit``, ``port:8000``.

    Launches that only count for want of others ended without meeting the condition.
    """
    salvaged = any(note.code == "salvaged" for note in result.notes)
    return "exit" if salvaged else result.options.until


def typical(launches: list[Launch]) -> Launch | None:
    """Return the launch whose wall time is nearest to the median of them all."""
    if not launches:
        return None
    middle = statistics.median(launch.wall_ns for launch in launches)
    return min(launches, key=lambda launch: abs(launch.wall_ns - middle))
