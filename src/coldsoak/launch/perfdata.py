"""Reads the bulk file of the agent's ``perf`` source: ``perf_event_open`` records as the kernel made them.

The layouts are those of ``linux/perf_event.h`` for the one sample type that the agent asks for
(identifier, ip, tid, time, address, call chain) with ``sample_id_all`` and ``clockid``
CLOCK_MONOTONIC. All times are CLOCK_MONOTONIC nanoseconds.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = [
    "Comm",
    "Exit",
    "Fork",
    "MapRecord",
    "PerfData",
    "PerfRecord",
    "Sample",
    "Switch",
    "parse_maps",
    "read_perf",
]

MAPS_CHUNK = 0xFFFFFFFF
_CHUNK = struct.Struct("<IIQ")
_HEADER = struct.Struct("<IHH")
_SAMPLE = struct.Struct("<QQIIQQQ")
_TRAILER = struct.Struct("<IIQQ")
_MMAP2 = struct.Struct("<IIQQQIIQQII")
_TASK = struct.Struct("<IIII")
_CONTEXT = 0xFFFFFFFFFFFFF000
"""Call-chain entries from here up mark a change between kernel and user frames."""
_MISC_13, _MISC_14 = 1 << 13, 1 << 14
_PROT_EXEC = 4
_SWITCHES = (14, 15)
"""PERF_RECORD_SWITCH, and the form of it that events on a whole CPU have."""


class Sample(NamedTuple):
    """One sample of an event; ``chain`` is leaf first, without context markers."""

    time: int
    pid: int
    tid: int
    event: str
    ip: int
    address: int
    chain: tuple[int, ...]


class Switch(NamedTuple):
    """A thread left a CPU (``out``; ``preempted`` when it wanted to go on) or came back to one."""

    time: int
    pid: int
    tid: int
    out: bool
    preempted: bool


class MapRecord(NamedTuple):
    """A mapping that appeared in a process; ``offset`` is its place in the file ``name``."""

    time: int
    pid: int
    tid: int
    start: int
    end: int
    offset: int
    executable: bool
    name: str


class Fork(NamedTuple):
    """A thread (``pid == ppid``) or a process came into being; ``ptid`` is the thread that did it."""

    time: int
    pid: int
    ppid: int
    tid: int
    ptid: int


class Exit(NamedTuple):
    """A thread ended."""

    time: int
    pid: int
    ppid: int
    tid: int
    ptid: int


class Comm(NamedTuple):
    """A thread got a name; ``exec`` when that was an ``execve``, which drops all mappings."""

    time: int
    pid: int
    tid: int
    name: str
    exec: bool


PerfRecord = Sample | Switch | MapRecord | Fork | Exit | Comm


@dataclass(frozen=True)
class PerfData:
    """All records of one bulk file in order of time, and how many the kernel had to drop."""

    records: list[PerfRecord]
    lost: int = 0
    truncated: bool = False
    """The file ends inside a chunk: the process was killed while it wrote."""
    snapshots: list[MapRecord] = field(default_factory=list)
    """Mappings copied from /proc/self/maps, the first copy before sampling began."""


def read_perf(path: Path, ids: Mapping[str, str]) -> PerfData:
    """Read a bulk file.

    Args:
        path: The file.
        ids: Kernel event id, as text, to the event's name (``info["ids"]`` of the file record).

    Raises:
        OSError: The file cannot be read.
        ValueError, struct.error: It is damaged otherwise than by a missing end.

    """
    names = {int(key): name for key, name in ids.items()}
    streams: defaultdict[int, bytearray] = defaultdict(bytearray)
    snapshots: list[MapRecord] = []
    content = memoryview(path.read_bytes())
    place, truncated = 0, False
    while place + _CHUNK.size <= len(content):
        kind, size, now = _CHUNK.unpack_from(content, place)
        place += _CHUNK.size
        chunk = content[place : place + size]
        place += size
        if len(chunk) < size:
            truncated = True
        elif kind == MAPS_CHUNK:
            snapshots.extend(_snapshot(chunk, now))
        else:
            streams[kind] += chunk
    records: list[PerfRecord] = []
    lost = 0
    for stream in streams.values():
        lost += _decode(bytes(stream), names, records)
    records.sort(key=attrgetter("time"))
    return PerfData(records, lost, truncated or place > len(content), snapshots)


def parse_maps(text: str, pid: int, time: int) -> Iterator[MapRecord]:
    """Yield the mappings in a copy of ``/proc/PID/maps``."""
    for line in text.splitlines():
        parts = line.split(None, 5)
        if len(parts) < 5:
            continue
        start, _, end = parts[0].partition("-")
        name = parts[5] if len(parts) > 5 else "//anon"
        exe = "x" in parts[1]
        yield MapRecord(time, pid, pid, int(start, 16), int(end, 16), int(parts[2], 16), exe, name)


def _snapshot(chunk: memoryview, now: int) -> Iterator[MapRecord]:
    pid, _, text = bytes(chunk).decode("utf-8", "surrogateescape").partition("\n")
    return parse_maps(text, int(pid), now)


def _decode(data: bytes, names: Mapping[int, str], records: list[PerfRecord]) -> int:
    """Append the records of one ring to ``records``; return how many it lost."""
    place, lost, size = 0, 0, len(data)
    header, add = _HEADER.unpack_from, records.append
    while place + 8 <= size:
        kind, misc, length = header(data, place)
        if length < 8 or place + length > size:
            break
        if kind == 9:
            add(_sample(data, place + 8, names))
        elif kind in _SWITCHES:
            pid, tid, time, _ = _TRAILER.unpack_from(data, place + length - _TRAILER.size)
            add(Switch(time, pid, tid, bool(misc & _MISC_13), bool(misc & _MISC_14)))
        elif kind == 2:
            lost += struct.unpack_from("<QQ", data, place + 8)[1]
        elif kind == 13:
            lost += struct.unpack_from("<Q", data, place + 8)[0]
        elif kind in _OTHERS:
            add(_OTHERS[kind](data, place, length, misc))
        place += length
    return lost


def _sample(data: bytes, place: int, names: Mapping[int, str]) -> Sample:
    identity, ip, pid, tid, time, address, depth = _SAMPLE.unpack_from(data, place)
    chain = struct.unpack_from(f"<{depth}Q", data, place + 48)
    frames = tuple(entry for entry in chain if entry < _CONTEXT)
    return Sample(time, pid, tid, names.get(identity, "clock"), ip, address, frames)


def _mmap2(data: bytes, place: int, length: int, misc: int) -> MapRecord:
    fields = _MMAP2.unpack_from(data, place + 8)
    pid, tid, start, size, offset = fields[:5]
    time = _TRAILER.unpack_from(data, place + length - 24)[2]
    name = _text(data, place + 8 + _MMAP2.size, place + length - 24)
    executable = bool(fields[9] & _PROT_EXEC) and not misc & _MISC_13
    return MapRecord(time, pid, tid, start, start + size, offset, executable, name)


def _comm(data: bytes, place: int, length: int, misc: int) -> Comm:
    pid, tid = struct.unpack_from("<II", data, place + 8)
    time = _TRAILER.unpack_from(data, place + length - 24)[2]
    name = _text(data, place + 16, place + length - 24)
    return Comm(time, pid, tid, name, bool(misc & _MISC_13))


def _fork(data: bytes, place: int, length: int, misc: int) -> Fork:
    del length, misc
    pid, ppid, tid, ptid = _TASK.unpack_from(data, place + 8)
    return Fork(struct.unpack_from("<Q", data, place + 24)[0], pid, ppid, tid, ptid)


def _exit(data: bytes, place: int, length: int, misc: int) -> Exit:
    return Exit(*_fork(data, place, length, misc))


_OTHERS: dict[int, Callable[[bytes, int, int, int], PerfRecord]] = {
    3: _comm,
    4: _exit,
    7: _fork,
    10: _mmap2,
}


def _text(data: bytes, start: int, end: int) -> str:
    stop = data.find(b"\0", start, end)
    return data[start : stop if stop >= 0 else end].decode("utf-8", "surrogateescape")
