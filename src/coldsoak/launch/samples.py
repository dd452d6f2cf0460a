"""Turns perf records into samples with frames, off-CPU time, waits, faults and process births."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coldsoak.launch.perfdata import (
    Comm,
    Exit,
    Fork,
    MapRecord,
    PerfData,
    Sample,
    Switch,
)
from coldsoak.launch.symbols import (
    AddressSpace,
    Kernel,
    Place,
    elf,
    is_kernel,
    library_name,
)
from coldsoak.launch.waits import wait_reason
from coldsoak.model.trace import Frames, pack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.launch.columns import Columns

__all__ = ["Birth", "HostFrames", "PerfReader"]

_BIG_MAPPING = 2**20
_Stack = tuple[int, ...]


@dataclass
class Birth:
    """A process that perf saw; times in CLOCK_MONOTONIC ns."""

    pid: int
    ppid: int
    thread: int
    start_ns: int
    end_ns: int | None = None
    name: str = ""
    executed: bool = False


class HostFrames:
    """Numbers code places and stacks; resolves them to library and symbol once, at the end."""

    def __init__(self) -> None:
        self._places: dict[Place, int] = {}
        self._stacks: dict[_Stack, int] = {}
        self._resolved: list[tuple[str, str]] = []
        self._by_number: list[_Stack] = []
        self._kernel: Kernel | None = None

    def frame(self, place: Place) -> int:
        """Return the number of a place."""
        return self._places.setdefault(place, len(self._places))

    def stack(self, frames: _Stack) -> int:
        """Return the number of a stack of places, leaf first."""
        return self._stacks.setdefault(frames, len(self._stacks))

    def resolve(self) -> None:
        """Look up library and symbol of each place."""
        self._resolved = [self._name(place) for place in self._places]
        self._by_number = list(self._stacks)

    def of(self, stack: int) -> list[tuple[str, str]]:
        """Return (library, symbol) of a stack's frames; ``resolve`` first."""
        return [self._resolved[frame] for frame in self._by_number[stack]]

    def paths(self) -> dict[str, str]:
        """Return the path of each library that was seen."""
        return {library_name(path): path for path, _ in self._places if path.startswith("/")}

    def table(self, columns: Columns) -> Frames:
        """Return the frames of the trace; places of one symbol are one frame."""
        merged: dict[tuple[str, str], int] = {}
        number = [merged.setdefault(names, len(merged)) for names in self._resolved]
        return Frames(
            library=pack(columns.string(library) for library, _ in merged),
            symbol=pack(columns.string(symbol) for _, symbol in merged),
            stacks=tuple(tuple(number[frame] for frame in stack) for stack in self._stacks),
        )

    def _name(self, place: Place) -> tuple[str, str]:
        path, offset = place
        if path == "[kernel]":
            if self._kernel is None:
                self._kernel = Kernel()
            return self._kernel.resolve(offset)
        library = library_name(path)
        if not path.startswith("/"):
            return library, ""
        symbols = elf(path)
        return library, symbols.name(offset) if symbols else ""


@dataclass
class PerfReader:
    """Applies the records of one bulk file in order of time.

    ``births`` and ``lost`` can be read afterwards; ``waits`` need the frames resolved.
    """

    columns: Columns
    frames: HostFrames
    minor_period: int = 32
    root: int = 0
    """Process that opened the events, where they watched whole CPUs; only it and its descendants
    count. 0 where the kernel saw to that."""
    births: dict[int, Birth] = field(default_factory=dict)
    _unborn: dict[tuple[int, int], int] = field(default_factory=dict)
    _spaces: dict[int, AddressSpace] = field(default_factory=dict)
    _known: dict[int, dict[int, int]] = field(default_factory=dict)
    _last: dict[int, AddressSpace] = field(default_factory=dict)
    _left: dict[tuple[int, int], tuple[Switch, int]] = field(default_factory=dict)
    _reasons: dict[tuple[int, int], int] = field(default_factory=dict)
    _intervals: list[tuple[int, int, int, int]] = field(default_factory=list)

    def read(self, data: PerfData) -> None:
        """Take in a file's records."""
        self._snapshots(data.snapshots)
        actions = {
            Sample: self._sample,
            Switch: self._switch,
            MapRecord: self._map,
            Fork: self._fork,
            Exit: self._exit,
            Comm: self._comm,
        }
        family = {self.root}
        for record in data.records:
            if self.root and record.pid not in family:
                if not isinstance(record, Fork) or record.ppid not in family:
                    continue
                family.add(record.pid)
            actions[type(record)](record)  # type: ignore[operator]

    def waits(self, shortest_ns: int = 20_000) -> None:
        """Add a ``wait`` span for each time a thread slept for a reason that its stack shows."""
        texts: dict[int, tuple[str, str]] = {}
        for start, end, track, stack in self._intervals:
            if end - start < shortest_ns:
                continue
            if stack not in texts:
                texts[stack] = self._wait_text(stack)
            reason, detail = texts[stack]
            if reason:
                self.columns.span(track, "wait", reason, (start, end), detail=detail)

    def _wait_text(self, stack: int) -> tuple[str, str]:
        frames = self.frames.of(stack)
        kernel = [symbol for library, symbol in frames if library.startswith("[k")]
        user = next(((lib, sym) for lib, sym in frames if not lib.startswith("[k")), ("", ""))
        return wait_reason(kernel), " ".join(part for part in user if part)

    def _snapshots(self, records: Iterable[MapRecord]) -> None:
        for record in records:
            first = self._spaces.get(record.pid)
            if first is None or first.taken == record.time:
                space = self._spaces.setdefault(record.pid, AddressSpace(taken=record.time))
                space.add(record)
            last = self._last.get(record.pid)
            if last is None or last.taken != record.time:
                last = self._last[record.pid] = AddressSpace(taken=record.time)
            last.add(record)

    def _space(self, pid: int) -> AddressSpace:
        return self._spaces.setdefault(pid, AddressSpace())

    def _sample(self, sample: Sample) -> None:
        if sample.event in {"fault.minor", "fault.major"}:
            self._fault(sample)
            return
        known = self._known.setdefault(sample.pid, {})
        chain = sample.chain or (sample.ip,)
        numbers = []
        for address in chain:
            number = known.get(address)
            if number is None:
                number = self._number(sample.pid, address, known)
            numbers.append(number)
        stack = self.frames.stack(tuple(numbers))
        if sample.event == "switch":
            self._reasons[sample.pid, sample.tid] = stack
        else:
            track = self.columns.track(sample.pid, sample.tid)
            self.columns.sample(sample.time, track, stack)

    def _number(self, pid: int, address: int, known: dict[int, int]) -> int:
        if is_kernel(address):
            number = self.frames.frame(("[kernel]", address))
        else:
            place = self._space(pid).place(address)
            if place[0] == "[unmapped]" and pid in self._last:
                place = self._last[pid].place(address)
            number = self.frames.frame(place)
            if place[0] == "[unmapped]":
                return number  # a later mapping may explain it
        known[address] = number
        return number

    def _fault(self, sample: Sample) -> None:
        track = self.columns.track(sample.pid, sample.tid)
        mapping = self._space(sample.pid).find(sample.address)
        where = "" if mapping is None else mapping.name
        name = library_name(where) if where.startswith("/") and where[1] != "/" else where
        value = self.minor_period if sample.event == "fault.minor" else 1
        self.columns.event(sample.time, track, sample.event, value, name.replace("//", ""))

    def _switch(self, switch: Switch) -> None:
        key = switch.pid, switch.tid
        if switch.out:
            self._left[key] = switch, self._reasons.pop(key, -1)
            return
        track = self.columns.track(*key)
        born = self._unborn.pop(key, None)
        if born is not None:  # a new thread waits for its first turn as any other does for its next
            self.columns.off_cpu(born, switch.time, track, runnable=True)
        left, stack = self._left.pop(key, (None, -1))
        if left is None:
            return
        self.columns.off_cpu(left.time, switch.time, track, runnable=left.preempted)
        if stack >= 0 and not left.preempted:
            self._intervals.append((left.time, switch.time, track, stack))

    def _map(self, new: MapRecord) -> None:
        self._space(new.pid).add(new)
        if known := self._known.get(new.pid):
            for address in [a for a in known if new.start <= a < new.end]:
                del known[address]
        is_file = new.name.startswith("/") and new.name[1:2] != "/"
        is_big = new.end - new.start >= _BIG_MAPPING and new.name != "[heap]"
        if new.executable if is_file else is_big:
            name = library_name(new.name) if is_file else new.name.replace("//", "")
            track = self.columns.track(new.pid, new.tid)
            self.columns.event(new.time, track, "mmap", new.end - new.start, name)

    def _fork(self, fork: Fork) -> None:
        self._unborn[fork.pid, fork.tid] = fork.time
        if fork.pid == fork.ppid:
            parent = self.columns.track(fork.pid, fork.ptid)
            self.columns.event(fork.time, parent, "threads", 1)
            return
        self._spaces[fork.pid] = self._space(fork.ppid).copy()
        self._known.pop(fork.pid, None)
        self.births[fork.pid] = Birth(fork.pid, fork.ppid, fork.ptid, fork.time)

    def _exit(self, ended: Exit) -> None:
        if ended.pid == ended.tid and ended.pid in self.births:
            self.births[ended.pid].end_ns = ended.time

    def _comm(self, comm: Comm) -> None:
        self.columns.name_track(comm.pid, comm.tid, comm.name)
        if not comm.exec:
            return
        self._spaces[comm.pid] = AddressSpace()
        self._known.pop(comm.pid, None)
        if comm.pid in self.births:
            self.births[comm.pid].name = comm.name
            self.births[comm.pid].executed = True
