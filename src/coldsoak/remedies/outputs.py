"""Do two arms compute the same? Exit status, declared outputs, a check, and what was printed.

Printed text is compared line by line. A line's *skeleton* is the line with every number taken out.
Numbers that differ between launches of the unchanged command are volatile and so never compared:
times, addresses, results of unseeded random numbers. Numbers that stand before a unit of time, times
of day, addresses, and lines that libraries log with a timestamp are left out from the start.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from coldsoak.model.result import Launch

__all__ = ["OUTPUT_NOTE", "Compared", "Learned", "compare", "declared", "learn", "printed"]

OUTPUT_NOTE = "output"
"""Key under which the agent notes a declared output: ``{"output": NAME, "digest": HEX}``."""

LOG_BYTES = 1 << 20
"""End of a launch's output that is compared."""

_LOGGED = re.compile(
    r"^(?:[IWEF]\d{4} \d\d:|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|[IWEF]0000 00:|WARNING: All log messages"
    r"|coldsoak: )"
)
_ALWAYS = re.compile(
    r"0x[0-9a-fA-F]+"
    r"|\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?\b"
    r"|[-+]?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?\s?"
    r"(?=(?:s|sec|secs|second|seconds|ms|µs|us|ns|min|it/s|s/it)\b)"
)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MASKED = "\N{HORIZONTAL ELLIPSIS}"


class Compared(NamedTuple):
    """What the comparison of two launches said."""

    state: Literal["equal", "differ", "not compared"]
    why: str = ""
    """The first difference."""


class Learned(NamedTuple):
    """What launches of the unchanged command print each time."""

    lines: Mapping[str, int]
    """How often each skeleton occurs; skeletons whose count varies are not among them."""
    numbers: Mapping[tuple[str, int, int], str]
    """The numbers that are always the same, by skeleton, occurrence and place in the line."""
    unstable: frozenset[str]
    """Skeletons whose number of occurrences varies."""
    launches: int


def printed(folder: Path, launch: Launch) -> str:
    """Return what a launch printed, its end only when it is very long."""
    try:
        with (folder / launch.log).open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - LOG_BYTES))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""


def declared(launch: Launch) -> dict[str, str]:
    """Return the digests of the outputs that the program declared, and of the check's output."""
    found: dict[str, str] = {}
    for note in launch.notes:
        if note.code == "data" and f'"{OUTPUT_NOTE}"' in note.text:
            told = json.loads(note.text)
            found[str(told[OUTPUT_NOTE])] = str(told.get("digest", ""))
    check = launch.data.get("check")
    if isinstance(check, dict):
        found["--check"] = f"exit {check.get('exit')} {check.get('digest', '')}"
    return found


def learn(texts: Sequence[str]) -> Learned:
    """Learn what is stable from the output of several launches of the unchanged command."""
    rows = [_read(text) for text in texts]
    counts = [Counter({line: len(found) for line, found in row.items()}) for row in rows]
    every = {line for row in counts for line in row}
    unstable = frozenset(line for line in every if len({row[line] for row in counts}) > 1)
    stable = {line: counts[0][line] for line in every - unstable}
    seen: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    for row in rows:
        for line in stable:
            for key, value in _numbers(line, row[line]):
                seen[key].add(value)
    numbers = {key: values.pop() for key, values in seen.items() if len(values) == 1}
    return Learned(stable, numbers, unstable, len(texts))


def compare(learned: Learned, text: str) -> Compared:
    """Compare the output of one launch with what was learned; needs two launches to learn from."""
    if learned.launches < 2:
        return Compared("not compared", "it takes two launches of the unchanged command")
    row = _read(text)
    for line, count in learned.lines.items():
        found = row.get(line, [])
        if len(found) != count:
            return Compared("differ", f"printed {len(found)} times, not {count}: {line.strip()}")
        for key, value in _numbers(line, found):
            expected = learned.numbers.get(key)
            if expected is not None and expected != value:
                return Compared("differ", f"{value} instead of {expected} in: {line.strip()}")
    new = [line for line in row if line not in learned.lines and line not in learned.unstable]
    if new:
        return Compared("differ", f"new: {new[0].strip()}")
    return Compared("equal")


def _read(text: str) -> dict[str, list[list[str]]]:
    """Return for each skeleton the numbers of each of its lines."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for line in text.splitlines():
        if not line.strip() or _LOGGED.match(line):
            continue
        masked = _ALWAYS.sub(_MASKED, line.rpartition("\r")[2])
        found[_NUMBER.sub("#", masked)].append(_NUMBER.findall(masked))
    return found


def _numbers(
    line: str, rows: Sequence[Sequence[str]]
) -> Iterable[tuple[tuple[str, int, int], str]]:
    for occurrence, row in enumerate(rows):
        for place, value in enumerate(row):
            yield (line, occurrence, place), value
