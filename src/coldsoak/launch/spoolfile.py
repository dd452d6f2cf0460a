"""One process's file of a spool: its records, as far as they can be read.

A killed process ends in half a line, a damaged line is counted, a record of a newer agent is passed
over, and where the first line was lost the file's name stands in for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

import msgspec

from coldsoak.launch.evidence import last_word
from coldsoak.model import spool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from coldsoak.launch.evidence import Fared

__all__ = ["File", "read_file", "records"]

_TAGS = frozenset(kind.__struct_config__.tag for kind in get_args(spool.Record))
_LISTS: Mapping[type, str] = {
    spool.Phase: "phases",
    spool.Region: "regions",
    spool.Imported: "imports",
    spool.Child: "children",
    spool.Cost: "costs",
    spool.Note: "notes",
}
_TABLES: Mapping[type, tuple[str, str]] = {
    spool.Site: ("sites", "id"),
    spool.Key: ("keys", "id"),
    spool.Reading: ("readings", "id"),
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
    sources: dict[str, Fared] = field(default_factory=dict)
    """By name."""
    notes: list[spool.Note] = field(default_factory=list)
    last_ns: int = 0
    """Latest moment in any record."""
    damaged: int = 0
    """Lines that could not be decoded."""


def records(path: Path) -> Iterator[spool.Record]:
    """Yield the records of one file, its ``process`` record first even where that line was lost.

    Unknown, damaged and half-written lines are passed over.
    """
    readable = (record for record in _decoded(path) if not isinstance(record, _Damage))
    for place, record in enumerate(readable):
        if place == 0 and not isinstance(record, spool.Process):
            yield _unnamed(path)
        yield record


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
    elif isinstance(record, spool.Source):
        file.sources[record.name] = last_word(record, file.sources.get(record.name))
