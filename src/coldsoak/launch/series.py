"""Clock readings become executions, and executions that belong together a series."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from coldsoak.launch.redact import redact_value
from coldsoak.model import spool
from coldsoak.model.result import Execution, Series, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from coldsoak.launch.spoolfile import File

__all__ = ["Found", "Kind", "find"]

Kind = Literal["clock", "declared", "timeit", "bench", "neighbours"]
_KINDS: Mapping[str, Kind] = {
    "clock": "clock",
    "declared": "declared",
    "timeit": "timeit",
    "bench": "bench",
}
_COUNTER_RUNS = 3
"""Fewest executions that show a local value to be a counter of runs."""
_PROGRAMS = frozenset({"script", "module", "stdin", "interactive"})


@dataclass(frozen=True)
class _Use:
    """One execution with what it takes to tell its series."""

    file: int
    """Place of the process among the files."""
    kind: Kind
    name: str
    start: Site | None
    end: Site | None
    stack: tuple[Site, ...]
    case: tuple[tuple[str, str], ...]
    clock: str
    thread: int
    start_ns: int
    end_ns: int
    seconds: float
    ready_ns: int
    rerun: int

    @property
    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.name, self.start, self.end, self.stack, self.case)


@dataclass(frozen=True)
class Found:
    """The regions of a launch."""

    executions: tuple[Execution, ...]
    series: tuple[Series, ...]
    by_file: Mapping[int, tuple[tuple[Execution, Series], ...]]
    """The same by the first agent moment of the process (``begin_ns``)."""

    def names_of(self, file: File) -> tuple[tuple[Execution, Series], ...]:
        """Return the executions of one process with their series."""
        return self.by_file.get(file.process.begin_ns, ())


def find(files: Sequence[File], *, t0_ns: int) -> Found:
    """Pair the readings of all processes and number the executions in program order."""
    uses = [use for place, file in enumerate(files) for use in _uses(place, file, files)]
    uses = _without_counters(sorted(uses, key=lambda use: (use.start_ns, -use.end_ns)), files)
    uses = _by_rank(uses, files)
    known: dict[tuple[object, ...], Series] = {}
    counts: dict[str, int] = defaultdict(int)
    executions = []
    by_file: dict[int, list[tuple[Execution, Series]]] = defaultdict(list)
    for use in uses:
        series = known.get(use.identity)
        if series is None:
            series = known[use.identity] = _series(use, len(known))
        execution = _execution(use, series.id, counts[series.id], files[use.file], t0_ns)
        counts[series.id] += 1
        executions.append(execution)
        by_file[files[use.file].process.begin_ns].append((execution, series))
    return Found(
        executions=tuple(executions),
        series=tuple(known.values()),
        by_file={begin: tuple(rows) for begin, rows in by_file.items()},
    )


def _uses(place: int, file: File, files: Sequence[File]) -> Iterator[_Use]:
    used: set[int] = set()
    for region in file.regions:
        used.update((region.start, region.end))
        start = _reading(region.start, file, files)
        yield _use(place, file, region, start, _reading(region.end, file, files))
    spare = (reading for reading in file.readings.values() if reading.id not in used)
    for first, second in _neighbours(file, spare):
        region = spool.Region(
            start=first.id,
            end=second.id,
            key=second.key,
            thread=second.thread,
            start_ns=first.ns,
            end_ns=second.ns,
            seconds=second.value - first.value,
            kind="neighbours",
        )
        yield _use(place, file, region, (first, file), (second, file))


def _reading(number: int, file: File, files: Sequence[File]) -> tuple[spool.Reading, File] | None:
    """Find a reading, in a parent's file when a forked child uses what it inherited."""
    if number in file.readings:
        return file.readings[number], file
    if number >= 0 and file.process.how == "fork":
        for parent in files:
            reading = parent.readings.get(number)
            if parent.process.pid == file.process.ppid and reading is not None:
                return reading, parent
    return None


def _neighbours(
    file: File, readings: Iterable[spool.Reading]
) -> Iterator[tuple[spool.Reading, spool.Reading]]:
    """Pair two successive readings of one clock at two places in one function on one thread."""
    groups: dict[tuple[object, ...], list[spool.Reading]] = defaultdict(list)
    for reading in readings:
        site = file.sites.get(reading.site)
        if site is not None:
            callers = file.keys[reading.key].stack[1:] if reading.key in file.keys else []
            place = (
                reading.thread,
                site.file,
                site.function,
                site.clock,
                tuple(map(tuple, callers)),
            )
            groups[place].append(reading)
    for group in groups.values():
        group.sort(key=lambda reading: reading.ns)
        waiting: spool.Reading | None = None
        for reading in group:
            if waiting is not None and waiting.site != reading.site:
                yield waiting, reading
                waiting = None
            else:
                waiting = reading


def _use(
    place: int,
    file: File,
    region: spool.Region,
    start: tuple[spool.Reading, File] | None,
    end: tuple[spool.Reading, File] | None,
) -> _Use:
    key = file.keys.get(region.key)
    cwd = file.process.cwd
    stack = tuple(_site(*frame, cwd=cwd) for frame in (key.stack if key else ()))
    first, last = (_place(reading, cwd) for reading in (start, end))
    if start is None and end is None and stack:
        first = last = stack[0]
    return _Use(
        file=place,
        kind=_KINDS.get(region.kind, "neighbours"),
        name=region.name,
        start=first,
        end=last,
        stack=stack,
        case=tuple((name, redact_value(name, value)) for name, value in (key.case if key else ())),
        clock=_clock(end) or _clock(start),
        thread=region.thread,
        start_ns=region.start_ns,
        end_ns=max(region.start_ns, region.end_ns),
        seconds=region.seconds / max(1, region.loops),
        ready_ns=region.ready_ns,
        rerun=_rerun(file, region.start_ns),
    )


def _place(found: tuple[spool.Reading, File] | None, cwd: str) -> Site | None:
    if found is None:
        return None
    reading, file = found
    site = file.sites.get(reading.site)
    return None if site is None else _site(site.file, site.line, site.function, cwd=cwd)


def _clock(found: tuple[spool.Reading, File] | None) -> str:
    site = None if found is None else found[1].sites.get(found[0].site)
    return "" if site is None else site.clock


def _site(file: str, line: int, function: str, *, cwd: str) -> Site:
    """Name files below the working directory relative to it, so that the place may move."""
    inside = f"{cwd.rstrip('/')}/" if cwd else ""
    name = file.removeprefix(inside) if inside else file
    return Site(file=name, line=line, function=function)


def _rerun(file: File, moment: int) -> int:
    starts = [one for one in file.phases if one.name == "rerun_start" and one.ns <= moment]
    if not starts:
        return 0
    latest = max(starts, key=lambda one: one.ns)
    return int(latest.detail) if latest.detail.isdecimal() else len(starts)


def _without_counters(uses: Sequence[_Use], files: Sequence[File]) -> list[_Use]:
    """Drop local values that only count the runs, so that the runs form one series.

    A value counts when it starts at 0 or 1 and grows by one with each of at least three
    executions that are otherwise alike, from the start again in each execution of the script.
    Workers of a pool keep theirs: who gets which piece differs from launch to launch.
    """
    cleaned = list(uses)
    for name in sorted({name for use in uses for name, _ in use.case}):
        groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for index, use in enumerate(cleaned):
            if any(other == name for other, _ in use.case):
                groups[(use.file, _bare(use, name).identity)].append(index)
        for indices in groups.values():
            group = [cleaned[index] for index in indices]
            if _in_order(group, files) and _counts(group, name):
                for index in indices:
                    cleaned[index] = _bare(cleaned[index], name)
    return cleaned


def _by_rank(uses: list[_Use], files: Sequence[File]) -> list[_Use]:
    """Let the rank name the case where there are several: each rank has a first run of its own."""
    ranks = [file.process.rank for file in files]
    if len({rank for rank in ranks if rank}) < 2:
        return uses
    return [
        replace(use, case=(*use.case, ("rank", ranks[use.file])))
        if ranks[use.file] and all(name != "rank" for name, _ in use.case)
        else use
        for use in uses
    ]


def _in_order(uses: Sequence[_Use], files: Sequence[File]) -> bool:
    """Tell whether one main thread of a program of the user's executed them one by one."""
    process = files[uses[0].file].process
    return process.how in _PROGRAMS and all(use.thread == process.thread for use in uses)


def _bare(use: _Use, name: str) -> _Use:
    return replace(use, case=tuple(item for item in use.case if item[0] != name))


def _counts(uses: Sequence[_Use], name: str) -> bool:
    by_rerun: dict[int, list[int]] = defaultdict(list)
    for use in uses:
        value = dict(use.case)[name]
        if not value.isdecimal():
            return False
        by_rerun[use.rerun].append(int(value))
    return all(
        len(values) >= _COUNTER_RUNS
        and values[0] in {0, 1}
        and all(after == before + 1 for before, after in pairwise(values))
        for values in by_rerun.values()
    )


def _series(use: _Use, order: int) -> Series:
    return Series(
        id=_identify(use),
        kind=use.kind,
        label=_label(use),
        start=use.start,
        end=use.end,
        stack=use.stack,
        case=dict(use.case),
        clock=use.clock,
        order=order,
    )


def _identify(use: _Use) -> str:
    """Hash what tells the series, the same in every launch of the same sources."""
    parts = [use.kind, use.name]
    parts += [f"{site.file}:{site.line}" if site else "" for site in (use.start, use.end)]
    parts += [f"{site.file}:{site.line}:{site.function}" for site in use.stack]
    parts += [f"{name}={value}" for name, value in use.case]
    return hashlib.blake2s("\0".join(parts).encode(), digest_size=6).hexdigest()


def _label(use: _Use) -> str:
    """Name a series for people: ``time_matmul (script.py:8-11) device='/GPU:0'``."""
    where = _lines(use.start, use.end)
    site = use.end or use.start
    function = "" if site is None or site.function == "<module>" else site.function
    function = function.replace(".<locals>", "")
    name = use.name or ("timeit" if use.kind == "timeit" else function)
    label = f"{name} ({where})" if name and where else name or where or use.kind
    return " ".join([label, *(f"{name}={value}" for name, value in use.case)])


def _lines(start: Site | None, end: Site | None) -> str:
    first, last = start or end, end or start
    if first is None or last is None:
        return ""
    if first.file != last.file:
        return f"{_base(first)}:{first.line} to {_base(last)}:{last.line}"
    lines = f"{first.line}" if first.line == last.line else f"{first.line}-{last.line}"
    return f"{_base(first)}:{lines}"


def _base(site: Site) -> str:
    return PurePath(site.file).name


def _execution(use: _Use, series: str, run: int, file: File, t0_ns: int) -> Execution:
    return Execution(
        series=series,
        run=run,
        pid=file.process.pid,
        thread=use.thread,
        start_ns=use.start_ns - t0_ns,
        end_ns=use.end_ns - t0_ns,
        seconds=use.seconds,
        ready_ns=max(use.ready_ns, use.end_ns) - t0_ns if use.ready_ns else None,
        rerun=use.rerun,
    )
