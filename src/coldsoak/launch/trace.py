"""Makes the trace of a traced launch from what its processes left: spools, perf and CUPTI files."""

from __future__ import annotations

import gzip
import json
import struct
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from coldsoak.errors import FormatError
from coldsoak.launch import cupti, onednn
from coldsoak.launch.columns import Columns, describe
from coldsoak.launch.encoding import to_msgpack
from coldsoak.launch.evidence import Fared, last_word, losing, over_processes
from coldsoak.launch.perfdata import read_perf
from coldsoak.launch.procsampler import FILE_NAME, add_proc_samples
from coldsoak.launch.redact import redact_command
from coldsoak.launch.samples import Birth, HostFrames, PerfReader
from coldsoak.model import spool
from coldsoak.model.result import Child, Launch, Process, SourceState
from coldsoak.model.trace import TRACE_FORMAT, Trace, TraceProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["build", "load_trace", "save"]

_DEFAULT_PERIOD_NS = 1_000_000


def build(
    contents: Iterable[Sequence[spool.Record]],
    *,
    launch: Launch,
    folder: Path,
    t0_ns: int,
    children: Sequence[Child] = (),
    log: Path | None = None,
) -> Trace:
    """Return the trace of one launch.

    Args:
        contents: The records of each process's file, each beginning with its ``process`` record.
        launch: The launch; its index and arm name the trace.
        folder: Where the bulk files lie, the launch's spool.
        t0_ns: CLOCK_MONOTONIC ns at the spawn of the launch.
        children: Processes of the tree that carried no agent.
        log: The launch's output, read for oneDNN's verbose lines.

    """
    builder = _Builder(folder=folder, columns=Columns(t0_ns))
    builder.know(launch.processes)
    for records in contents:
        builder.add(records)
    if log is not None:
        builder.add_log(log)
    return builder.finish(launch, children)


def save(trace: Trace, path: Path) -> None:
    """Write a trace as gzipped msgpack, atomically.

    Raises:
        OSError: The file cannot be written; nothing of it is left.

    """
    partial = path.with_name(path.name + ".part")
    try:
        with gzip.open(partial, "wb", compresslevel=4) as file:
            file.write(to_msgpack(trace))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


class _Head(msgspec.Struct):
    """What every format has; the first traces were written without it."""

    format: int = 1


def load_trace(path: Path) -> Trace:
    """Read a trace.

    Raises:
        FormatError: The file is no trace, is cut off, or is of a newer format.

    """
    try:
        with gzip.open(path, "rb") as file:
            data = file.read()
        number = msgspec.msgpack.decode(data, type=_Head).format
        if number <= TRACE_FORMAT:
            return msgspec.msgpack.decode(data, type=Trace)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise FormatError(
            f"{path} is not a trace of coldsoak, or it is damaged.", why=str(error)
        ) from error
    raise FormatError(
        f"{path} has trace format {number}; this version reads up to {TRACE_FORMAT}.",
        why="it was written by a newer coldsoak",
        do="pip install --upgrade coldsoak",
    )


@dataclass
class _Builder:
    folder: Path
    columns: Columns
    frames: HostFrames = field(default_factory=HostFrames)
    processes: dict[int, TraceProcess] = field(default_factory=dict)
    births: dict[int, Birth] = field(default_factory=dict)
    started: list[tuple[int, spool.Child]] = field(default_factory=list)
    readers: list[PerfReader] = field(default_factory=list)
    said: list[dict[str, Fared]] = field(default_factory=list)
    """How the sources fared, in each process and as the parent sees them."""
    info: dict[str, str] = field(default_factory=dict)
    period_ns: int = _DEFAULT_PERIOD_NS

    def know(self, processes: Iterable[Process]) -> None:
        """Take in what the launch says of the processes that carried the agent, by their start.

        A process that replaced its program is one process that began with the first.
        """
        for process in processes:
            before = self.processes.get(process.pid)
            replaced = before is not None and process.start_ns <= (before.end_ns or 0)
            self.processes[process.pid] = TraceProcess(
                pid=process.pid,
                ppid=process.ppid,
                argv=process.argv,
                start_ns=before.start_ns if before and replaced else process.start_ns,
                end_ns=process.end_ns,
                agent=True,
            )

    def add(self, records: Sequence[spool.Record]) -> None:
        """Take in what one process wrote."""
        if not records or not isinstance(records[0], spool.Process):
            return
        first = records[0]
        pid = first.pid
        self.processes.setdefault(pid, self._process(first))
        has_compile = any(
            isinstance(record, spool.Span) and record.source == "import.compile"
            for record in records
        )
        states: dict[str, Fared] = {}
        for record in records:
            if isinstance(record, spool.Imported):
                self._import(pid, record, with_compile=not has_compile)
            elif isinstance(record, spool.Source):
                states[record.name] = last_word(record, states.get(record.name))
            else:
                self._record(pid, record)
        for record in records:  # what the files show outlives what the agent said after them
            if isinstance(record, spool.File):
                self._bulk(pid, record, states)
        self.said.append(states)

    def _record(self, pid: int, record: spool.Record) -> None:
        if isinstance(record, spool.Span):
            self._span(pid, record)
        elif isinstance(record, spool.Cost):
            track = self.columns.track(pid, record.thread)
            self.columns.span(track, "cost", record.what, (record.start_ns, record.end_ns))
        elif isinstance(record, spool.Child):
            self.started.append((pid, record))
        elif isinstance(record, spool.Phase) and record.name == "exit":
            self.processes[pid] = _ended(self.processes[pid], record.ns - self.columns.t0)

    def add_log(self, log: Path) -> None:
        """Take in oneDNN's primitive creations from the output of the main process."""
        system_to_monotonic = time.time_ns() - time.monotonic_ns()
        if not self.processes or not log.is_file():
            return
        pid = min(self.processes.values(), key=lambda process: process.start_ns).pid
        track = self.columns.track(pid, pid)
        with log.open(encoding="utf-8", errors="replace") as lines:
            stamped = [made for made in onednn.parse(lines) if made.start_ms]
        for made in stamped:
            start = round(made.start_ms * 1e6) - system_to_monotonic
            times = start, start + round(made.duration_ms * 1e6)
            detail = f"hit={'cache_hit' in made.operation}, key={made.problem}"
            name = f"{made.kind} {made.implementation}"
            self.columns.span(track, "onednn", name, times, detail=detail)
        if stamped:
            self.said.append({"onednn": Fared(SourceState(name="onednn", state="on"))})

    def finish(self, launch: Launch, children: Sequence[Child]) -> Trace:
        """Resolve code addresses, join the process tree, and return the trace."""
        self._look_from_outside()
        self.frames.resolve()
        for reader in self.readers:
            reader.waits()
        self._join(children)
        paths = {f"library:{name}": path for name, path in sorted(self.frames.paths().items())}
        frames = self.frames.table(self.columns)
        spans, events = self.columns.spans(), self.columns.events()
        device, samples = self.columns.device_ops(), self.columns.samples(self.period_ns)
        return Trace(
            launch=launch.index,
            arm=launch.arm,
            processes=tuple(sorted(self.processes.values(), key=lambda p: (p.start_ns, p.pid))),
            spans=spans,
            device=device,
            samples=samples,
            frames=frames,
            off_cpu=self.columns.off_cpus(),
            events=events,
            sources=over_processes(self.said),
            info={**self.info, **paths},
            strings=self.columns.strings,
            tracks=self.columns.tracks,
        )

    def _process(self, record: spool.Process) -> TraceProcess:
        return TraceProcess(
            pid=record.pid,
            ppid=record.ppid,
            argv=redact_command(record.argv),
            start_ns=record.begin_ns - self.columns.t0,
            agent=True,
        )

    def _span(self, pid: int, record: spool.Span) -> None:
        track = self.columns.track(pid, record.thread)
        value = record.args.get("value")
        if record.source == "point" and isinstance(value, int):
            detail = str(record.args.get("name", ""))
            self.columns.event(record.start_ns, track, record.name, value, detail)
            return
        self.columns.span(
            track,
            record.source,
            record.name,
            (record.start_ns, record.end_ns),
            detail=describe(record.args),
        )

    def _import(self, pid: int, record: spool.Imported, *, with_compile: bool) -> None:
        track = self.columns.track(pid, record.thread)
        times = record.start_ns, record.end_ns
        self.columns.span(track, "import", record.name, times, detail=record.file)
        if with_compile and record.compile_ns:
            end = min(record.start_ns + record.compile_ns, record.end_ns)
            self.columns.span(track, "import.compile", record.name, (record.start_ns, end))

    def _bulk(self, pid: int, record: spool.File, states: dict[str, Fared]) -> None:
        path = self.folder / record.path
        try:
            if record.kind == "perf":
                self._perf(path, record.info, states)
            elif record.kind == "cupti":
                self._cupti(pid, path)
        except (OSError, ValueError, KeyError, struct.error) as error:
            reason = f"the bulk file cannot be read: {error}"
            states[record.kind] = losing(record.kind, states.get(record.kind), reason)

    def _perf(self, path: Path, info: dict[str, Any], states: dict[str, Fared]) -> None:
        data = read_perf(path, info["ids"])
        self.period_ns = int(info.get("period_ns", _DEFAULT_PERIOD_NS))
        mode = info.get("mode", "task")
        root = int(info["pid"]) if mode == "cpu" else 0
        reader = PerfReader(self.columns, self.frames, int(info.get("minor_period", 1)), root)
        reader.read(data)
        self.readers.append(reader)
        self.births.update(reader.births)
        self.info["perf.kernel"] = "no" if mode == "user" else "yes"
        self.info["perf.minor_period"] = str(info.get("minor_period", 1))
        if not data.records:
            states["perf"] = losing("perf", states.get("perf"), "no record was written")
        elif data.lost or data.truncated:
            reason = "the end of the file is missing" if data.truncated else ""
            states["perf"] = losing("perf", states.get("perf"), reason, data.lost)

    def _look_from_outside(self) -> None:
        """Use what the parent saw in /proc where perf saw nothing."""
        path = self.folder / FILE_NAME
        if self.readers or not path.is_file():
            return
        period = add_proc_samples(path, self.columns, self.frames)
        if period:
            self.period_ns = period
        state = SourceState(name="proc", state="on", reason="thread states about every 10 ms")
        self.said.append({"proc": Fared(state)})

    def _cupti(self, pid: int, path: Path) -> None:
        records = cupti.read(path)
        threads = {call.correlation: call.thread for call in records.calls if call.thread}
        for call in records.calls:
            track = self.columns.track(pid, call.thread or threads.get(call.correlation, 0))
            self.columns.span(
                track,
                call.source,
                call.name,
                (call.start_ns, call.end_ns),
                detail=call.detail,
                correlation=call.correlation,
            )
        for work in records.operations:
            self.columns.device(
                pid,
                work.kind,
                work.name,
                (work.start_ns, work.end_ns),
                place=(work.device, work.stream),
                moved=work.bytes_moved,
                correlation=work.correlation,
            )
        for memory in records.allocations:
            track = self.columns.track(pid, threads.get(memory.correlation, 0))
            kind = "alloc" if memory.bytes >= 0 else "free"
            self.columns.event(memory.ns, track, kind, abs(memory.bytes), memory.kind)
        for device in records.devices:
            self.info[f"cuda.device.{device.get('device', 0)}"] = json.dumps(device)

    def _join(self, children: Sequence[Child]) -> None:
        """Bring together what agents, the launcher and perf know of each process."""
        for child in children:
            self.processes.setdefault(
                child.pid,
                TraceProcess(
                    pid=child.pid,
                    ppid=child.ppid,
                    argv=child.argv,
                    start_ns=child.start_ns,
                    end_ns=child.end_ns,
                    cpu_ns=None if child.cpu_s is None else round(child.cpu_s * 1e9),
                ),
            )
        for birth in self.births.values():
            known = self.processes.get(birth.pid)
            self.processes[birth.pid] = self._born(birth, known)
        for process in self.processes.values():
            self._child_span(process)

    def _born(self, birth: Birth, known: TraceProcess | None) -> TraceProcess:
        t0 = self.columns.t0
        argv = (known.argv if known else ()) or self._argv(birth) or (birth.name,)
        end = None if birth.end_ns is None else birth.end_ns - t0
        return TraceProcess(
            pid=birth.pid,
            ppid=birth.ppid,
            argv=tuple(argv),
            start_ns=birth.start_ns - t0,
            end_ns=end if end is not None or known is None else known.end_ns,
            cpu_ns=known.cpu_ns if known else None,
            agent=bool(known and known.agent),
            parent_thread=birth.thread,
        )

    def _argv(self, birth: Birth) -> tuple[str, ...]:
        """Return the command that the parent's thread announced last before the birth."""
        announced = [
            record
            for pid, record in self.started
            if pid == birth.ppid and record.ns <= birth.start_ns and record.argv
        ]
        same = [record for record in announced if record.thread == birth.thread]
        return redact_command((same or announced)[-1].argv) if (same or announced) else ()

    def _child_span(self, process: TraceProcess) -> None:
        if process.ppid not in self.processes or process.end_ns is None:
            return
        t0 = self.columns.t0
        name = Path(process.argv[0]).name if process.argv else "process"
        track = self.columns.track(process.pid, 0)
        command = " ".join(process.argv)[:500]
        times = process.start_ns + t0, process.end_ns + t0
        self.columns.span(track, "child", name, times, detail=command)


def _ended(process: TraceProcess, end_ns: int) -> TraceProcess:
    if process.end_ns is not None:
        return process
    return msgspec.structs.replace(process, end_ns=end_ns)
