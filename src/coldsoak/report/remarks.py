"""What is said below the tables: how many launches, what went wrong, what was not seen."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from coldsoak.findings.words import plural, source_text
from coldsoak.report.fix import fix_notes
from coldsoak.report.next_step import INTERVAL_FROM
from coldsoak.report.select import failed, lead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.model.result import Launch, Note, Result, Summary

__all__ = ["counts_line", "failures", "notes", "sources_line"]

_STOPPED = {
    "target": "stopped when the interval was narrow enough",
    "budget": "stopped by the time budget",
    "maximum": "stopped at the largest number of launches",
    "fixed": "as many as asked for",
    "interrupted": "interrupted",
    "failure": "stopped because launches failed",
}

DATA = "data"
"""Code of the note by which a worker reports figures; it is for programs, not for readers."""

MISSING = "framework_missing"
"""Code of the notes about frameworks that a bench left out."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def counts_line(result: Result, summary: Summary) -> str:
    """Return how many launches stand behind the figures, and why that many."""
    traced = sum(1 for launch in _of_kind(result, summary.arm, "traced"))
    synced = sum(1 for launch in _of_kind(result, summary.arm, "synced"))
    parts = [
        plural(summary.n, "timed launch", "timed launches"),
        f"{summary.discarded} discarded",
        f"{summary.invalid} invalid",
        f"{summary.failed} failed",
    ]
    if traced:
        parts.append(f"{traced} traced")
    if synced:
        parts.append(f"{synced} synced")
    why = _STOPPED[summary.stopped_by]
    if summary.stopped_by == "target":
        why += f" (±{100 * result.options.target:.0f} %)"
    text = f"{', '.join(parts)}; {why}."
    if 0 < summary.n < INTERVAL_FROM:
        text += f" An interval needs {INTERVAL_FROM} launches."
    return text


def _of_kind(result: Result, arm: str, kind: str) -> list[Launch]:
    return [
        launch
        for launch in result.launches
        if launch.arm == arm and launch.kind == kind and launch.status == "ok" and launch.round > 0
    ]


def failures(result: Result) -> list[tuple[str, tuple[str, ...]]]:
    """Return a sentence for each way in which launches failed, with the last lines of the output."""
    groups: dict[str, list[Launch]] = {}
    for launch in failed(result.launches):
        groups.setdefault(_how(result, launch), []).append(launch)
    return [
        (
            f"{_which(launches)} {how}"
            + (f"; output in {launches[0].log}" * bool(launches[0].log)),
            launches[0].tail[-6:],
        )
        for how, launches in groups.items()
    ]


def _which(launches: list[Launch]) -> str:
    numbers = [str(launch.index) for launch in launches]
    if len(numbers) > 4:
        return f"{len(numbers)} launches (first: {numbers[0]})"
    return f"Launch {numbers[0]}" if len(numbers) == 1 else f"Launches {', '.join(numbers)}"


def _how(result: Result, launch: Launch) -> str:
    if launch.status == "timeout":
        return f"ran longer than {result.options.timeout_s:g} s and was ended"
    if launch.status == "killed":
        return f"died of signal {launch.signal}"
    if launch.status == "not started":
        return "could not be started"
    return f"exited with status {launch.exit_code}"


def notes(result: Result) -> list[str]:
    """Return what the reader should hear about the measurement, each once."""
    if result.kind == "fix":
        return fix_notes(result)
    launches = [launch for launch in result.launches if launch.round > 0]
    good = [one for one in launches if one.status == "ok" and not one.invalid] or launches
    said = Counter(
        note.text for launch in good for note in dict.fromkeys(launch.notes) if note.code != DATA
    )
    lines = _missing(result)
    lines += [note.text for note in result.notes if note.code != MISSING]
    lines += [_of(result, summary, note) for summary in result.summaries for note in summary.notes]
    lines += _alike(said, len(good))
    lines += _left_out(launch.invalid for launch in launches if launch.invalid)
    lines += [line for summary in result.summaries for line in _shape(result, summary)]
    return list(dict.fromkeys(lines))


def _left_out(reasons: Iterable[str]) -> list[str]:
    """Say why launches were replaced; reasons that differ in a number alone are one."""
    alike: dict[str, list[str]] = {}
    for reason in reasons:
        alike.setdefault(_NUMBER.sub("#", reason, count=1), []).append(reason)
    return [
        f"{plural(len(group), 'launch', 'launches')} left out: {_in_one(group)}."
        for group in alike.values()
    ]


def _in_one(reasons: list[str]) -> str:
    numbers = {match[0] for reason in reasons if (match := _NUMBER.search(reason))}
    if len(numbers) < 2:
        return reasons[0]
    low, *_, high = sorted(numbers, key=float)
    return _NUMBER.sub(f"{low} to {high}", reasons[0], count=1)


def _missing(result: Result) -> list[str]:
    names = [note.text.split(" is not ")[0] for note in result.notes if note.code == MISSING]
    if not names:
        return []
    return [f"Not installed: {', '.join(names)}. `coldsoak devices` says what brings them."]


def _of(result: Result, summary: Summary, note: Note) -> str:
    return f"{summary.arm}: {note.text}" if len(result.summaries) > 1 else note.text


def _alike(said: Counter[str], total: int) -> list[str]:
    """Say how many launches said the same; texts that differ in numbers alone are said once."""
    groups: dict[str, list[str]] = {}
    for text in said:
        groups.setdefault(_NUMBER.sub("#", text), []).append(text)
    lines = []
    for texts in groups.values():
        count = sum(said[text] for text in texts)
        if len(texts) > 1:
            others = plural(count - said[texts[0]], "other launch", "other launches")
            lines.append(f"{texts[0]} (much the same in {others})")
        else:
            lines.append(texts[0] + f" (in {count} of {total} launches)" * (count != total))
    return lines


def _shape(result: Result, summary: Summary) -> list[str]:
    """Say what a median alone would hide."""
    main = lead(result, summary)
    if main is None:
        return []
    of = f" of {summary.arm}" if len(result.summaries) > 1 else ""
    lines = []
    if main.first.two_groups:
        lines.append(f"Run 0{of} falls in two separate groups: read the points, not the median.")
    if main.first.outliers and summary.n >= INTERVAL_FROM:  # of three points one is always out
        lines.append(f"{plural(main.first.outliers, 'outlier')} in run 0{of}, labelled and kept.")
    return lines


def sources_line(result: Result, arm: str) -> str:
    """Return which sources of evidence were off or lost records, and why."""
    states = {
        source.name: source
        for launch in _of_kind(result, arm, "traced")
        for source in launch.sources
        if source.state != "on" or source.lost
    }
    texts = [f"{source.name} {source_text(source)}" for source in states.values()]
    return "Not seen: " + "; ".join(texts) + "." if texts else ""
