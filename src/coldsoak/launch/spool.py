"""Reads a launch's spool back: the files of ``docs/spool.md`` become parts of a ``model.Launch``.

Whatever a launch left behind can be read: a killed process ends in half a line, a damaged line is
counted and told, a record of a newer agent is skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import msgspec

from coldsoak.launch import lives, series, stretches
from coldsoak.model import spool
from coldsoak.model.result import Child, Execution, Note, Process, Series, SourceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Bulk", "Contents", "File", "read", "read_file", "records"]

_TAGS = frozenset(kind.__struct_config__.tag for kind in get_args(spool.Record))
_LISTS: Mapping[type, str] = {
    spool.Phase: "phases",
    spool.Region: "regions",
    spool.Imported: "imports",
    spool.Child: "children",
    spool.Cost: "costs",
    spool.Note: "notes",
    spool.File: "bulk",
}
_TABLES: Mapping[type, tuple[str, str]] = {
    spool.Site: ("sites", "id"),
    spool.Key: ("keys", "id"),
    spool.Reading: ("readings", "id"),
    spool.Source: ("sources", "name"),
}
_MOMENTS: Mapping[type, str] = {
    spool.Phase: "ns",
    spool.Reading: "ns",
    spool.Child: "ns",
    spool.Region: "end_ns",
    spool.Imported: "end_ns",
    spool.Span: "end_ns",
    spool.Cost: "end_ns",
}
_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")

_Some = TypeVar("_Some")


@dataclass
class File:
    """The records of one process, by kind, in the order of writing."""

    path: Path
    process: spool.Process
    phases: list[spool.Phase] = field(default_factory=list)
    sites: dict[int, spool.Site] = field(default_factory=dict)
    keys: dict[int, spool.Key] = field(default_factory=dict)
    readings: dict[int, spool.Reading] = field(default_factory=dict)
    regions: list[spool.Region] = field(default_factory=list)
    imports: list[spool.Imported] = field(default_factory=list)
    children: list[spool.Child] = field(default_factory=list)
    costs: list[spool.Cost] = field(default_factory=list)
    sources: dict[str, spool.Source] = field(default_factory=dict)
    notes: list[spool.Note] = field(default_factory=list)
    bulk: list[spool.File] = field(default_factory=list)
    last_ns: int = 0
    """Latest moment in any record."""
    damaged: int = 0
    """Lines that could not be decoded."""


@dataclass(frozen=True)
class Bulk:
    """A file that a source wrote beside the spool."""

    pid: int
    kind: str
    path: Path
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Contents:
    """Everything in the spool of one launch; times in ns since the spawn."""

    processes: tuple[Process, ...]
    """By start; the first is the main process as far as it carried the agent."""
    executions: tuple[Execution, ...]
    """In program order over all processes."""
    series: tuple[Series, ...]
    children: tuple[Child, ...]
    """Processes that were started and wrote no spool."""
    notes: tuple[Note, ...]
    sources: tuple[SourceState, ...]
    files: tuple[Bulk, ...]
    spools: tuple[Path, ...]
    """For :func:`records`: spans and imports stay in the files until a trace is made."""
    damaged: int
    """Lines that could not be decoded."""


def read(
    folder: Path,
    *,
    t0_ns: int,
    spawn_pid: int | None,
    end_ns: int | None,
    ends: Mapping[int, int] | None = None,
) -> Contents:
    """Read the spool of one launch.

    Args:
        folder: Folder of the launch; one that is missing counts as empty.
        t0_ns: CLOCK_MONOTONIC at the spawn.
        spawn_pid: Process that was spawned.
        end_ns: CLOCK_MONOTONIC at its end, or None when unknown.
        ends: The same for other processes by pid, where they were seen to end.

    """
    opened = (read_file(path) for path in sorted(folder.glob("*.jsonl")))
    files = sorted(
        (file for file in opened if file is not None), key=lambda file: file.process.begin_ns
    )
    _inherit(files)
    known = dict(ends or {})
    if spawn_pid is not None and end_ns is not None:
        known[spawn_pid] = end_ns
    spans = lives.find(files, t0_ns=t0_ns, spawn_pid=spawn_pid, ends=known)
    found = series.find(files, t0_ns=t0_ns)
    processes = [
        stretches.process(file, life, found.names_of(file), t0_ns=t0_ns)
        for file, life in zip(files, spans, strict=True)
    ]
    return Contents(
        processes=tuple(
            sorted(processes, key=lambda process: (process.start_ns, process.ready_ns))
        ),
        executions=found.executions,
        series=found.series,
        children=tuple(lives.strangers(files, t0_ns=t0_ns)),
        notes=tuple(_notes(files)),
        sources=tuple(_sources(files)),
        files=tuple(
            Bulk(file.process.pid, one.kind, folder / one.path, one.info)
            for file in files
            for one in file.bulk
        ),
        spools=tuple(file.path for file in files),
        damaged=sum(file.damaged for file in files),
    )


def records(path: Path) -> Iterator[spool.Record]:
    """Yield the records of one file; unknown, damaged and half-written lines are passed over."""
    return (record for record in _decoded(path) if not isinstance(record, _Damage))


def read_file(path: Path) -> File | None:
    """Read one process's file; None when it holds no record at all."""
    file: File | None = None
    damaged = 0
    for record in _decoded(path):
        if isinstance(record, _Damage):
            damaged += 1
        elif isinstance(record, spool.Process):
            file = file or File(path, record)
        else:
            file = file or File(path, _unnamed(path))
            _file_record(file, record)
    if file is None:
        return None
    file.damaged = damaged
    file.last_ns = max(file.last_ns, file.process.begin_ns)
    return file


class _Damage:
    """Stands for a line that is neither a record nor of a kind that a newer agent may write."""


def _decoded(path: Path) -> Iterator[spool.Record | _Damage]:
    with path.open("rb") as lines:
        for line in lines:
            record = _decode(line)
            if record is not None:
                yield record


def _decode(line: bytes) -> spool.Record | _Damage | None:
    """Return None for a line that may be passed over: of an unknown kind, or half-written."""
    try:
        return spool.DECODER.decode(line)
    except msgspec.DecodeError:
        return _Damage() if _is_damaged(line) else None


def _is_damaged(line: bytes) -> bool:
    """Tell a line that went wrong from one of an unknown kind, an empty one or half a last one."""
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return line.endswith(b"\n") and bool(line.strip())
    tag = value[0] if isinstance(value, list) and value else None
    return not isinstance(tag, str) or tag in _TAGS


def _unnamed(path: Path) -> spool.Process:
    """Stand in for a first line that was lost: the file's name still has the pid and the time."""
    match = _NAME.fullmatch(path.name)
    pid, begin = (int(match[1]), int(match[2])) if match else (0, 0)
    return spool.Process(spool.PROTOCOL, pid, 0, pid, begin, "", "", [], "", "other", 0)


def _file_record(file: File, record: spool.Record) -> None:
    """Put ``record`` on its list, or in its table, and remember the latest moment."""
    kind = type(record)
    moment = getattr(record, _MOMENTS[kind]) if kind in _MOMENTS else 0
    file.last_ns = max(file.last_ns, moment)
    if kind in _LISTS:
        getattr(file, _LISTS[kind]).append(record)
    elif kind in _TABLES:
        name, key = _TABLES[kind]
        getattr(file, name)[getattr(record, key)] = record


def _inherit(files: Sequence[File]) -> None:
    """Give a forked child the sites and keys that its parent had already written."""
    by_pid: dict[int, File] = {}
    for file in files:
        parent = by_pid.get(file.process.ppid)
        if file.process.how == "fork" and parent is not None:
            file.sites = {**parent.sites, **file.sites}
            file.keys = {**parent.keys, **file.keys}
        by_pid[file.process.pid] = file


def _notes(files: Iterable[File]) -> Iterator[Note]:
    """Pass on the agents' notes, each once, and tell what could not be read."""
    texts: dict[tuple[str, str], Note] = {}
    for file in files:
        for note in file.notes:
            texts.setdefault((note.code, note.text), Note(code=note.code, text=note.text))
        if file.process.protocol > spool.PROTOCOL:
            text = (
                f"Process {file.process.pid} wrote records of version {file.process.protocol}; "
                f"this coldsoak knows {spool.PROTOCOL}, so some may be missing."
            )
            texts["protocol", text] = Note(code="protocol", text=text)
        if file.damaged:
            lines = "1 line" if file.damaged == 1 else f"{file.damaged} lines"
            text = f"{lines} in the records of process {file.process.pid} could not be read."
            texts["damaged", text] = Note(code="damaged", text=text)
    yield from texts.values()


def _sources(files: Iterable[File]) -> Iterator[SourceState]:
    """Put each source's last word in every process together."""
    said: dict[str, list[spool.Source]] = {}
    for file in files:
        for name, source in file.sources.items():
            said.setdefault(name, []).append(source)
    for name, states in said.items():
        lost = sum(source.lost for source in states)
        state: Literal["on", "off", "lost"] = "off"
        if lost or any(source.state == "lost" for source in states):
            state = "lost"
        elif any(source.state == "on" for source in states):
            state = "on"
        yield SourceState(
            name=name,
            state=state,
            reason=_first(source.reason for source in states if source.state != "on") or "",
            cost_ns=sum(source.cost_ns for source in states),
            lost=lost,
        )


def _first(values: Iterable[_Some]) -> _Some | None:
    return next((value for value in values if value), None)
