"""All evidence of a trace, thread by thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coldsoak.ledger.arrays import (
    Bools,
    Ints,
    Rows,
    Texts,
    column,
    flatten,
    index_of,
    over,
    owners,
)
from coldsoak.ledger.device import Device, Run, read_device
from coldsoak.ledger.rules import processes as child_rules
from coldsoak.ledger.rules.base import CODE, Kind
from coldsoak.ledger.spans import SpanTable, read_spans
from coldsoak.ledger.stacks import Samples, on_cpu, read_samples
from coldsoak.ledger.sweep import SETS_UP, Evidence, Timeline, sweep, waits_of, working
from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from coldsoak.model.result import Launch, Process
    from coldsoak.model.trace import Trace

__all__ = ["LIBRARY_GAP_NS", "THREAD_WAIT_NS", "Threads"]

LIBRARY_GAP_NS = 50_000_000
"""Host time of at most this length beside a library's module loads, between two CUDA calls, is
that library starting; cuBLAS and cuDNN unpack their kernels there."""
DRIVER_GAP_NS = 20_000_000
"""Samples in driver code at most this far apart belong to one stay in the driver."""
_BEGINS_NS = 1_000_000
"""A major fault, or the start of a thread, at most this long before a wait began it."""
_STACK_NS = 200_000
"""What the C library does for a thread's stack lies at most this far from its start."""
THREAD_WAIT_NS = 20_000_000
"""A longer wait is not for a new thread to come up."""


@dataclass(frozen=True, slots=True)
class _Switches:
    rows: Rows
    pid: Ints
    tid: Ints


class Threads:
    """The timelines of a launch's threads, made when first asked for."""

    def __init__(self, trace: Trace, launch: Launch, runs: list[Run], start: int, end: int) -> None:
        self.texts = Texts()
        self.no_source = self.texts("")
        self._trace, self._launch = trace, launch
        self._start, self._end = start, end
        self.spans: SpanTable = read_spans(trace, self.texts)
        users = {(e.pid, e.thread) for e in launch.executions}
        self.device: Device = read_device(trace, self.spans, self.texts, runs, users)
        first = len(self.spans.rows) + len(self.device.rows)
        self.samples: Samples = read_samples(trace, self.texts, first)
        self._next_row = first + len(self.samples.time)
        self._switches = self._read_switches()
        self._disk = self._moments("fault.major")
        self._births = self._moments("threads")
        self._children = {p.pid: self._next_row + i for i, p in enumerate(trace.processes)}
        self._next_row += len(trace.processes)
        self._driver_row = self._next_row
        self._cupti_on = any(s.name == "cupti" and s.state != "off" for s in trace.sources)
        self._next_row += 1
        self._alone: dict[tuple[int, int], tuple[Evidence, Timeline]] = {}
        self._per_process: dict[int, tuple[Rows, Rows]] = {}

    @property
    def rows(self) -> int:
        """Number of records that evidence can refer to."""
        return self._next_row + len(self._launch.processes) * 3 + 3

    def timeline(self, pid: int, tid: int) -> Timeline:
        """Return the thread's partition, its waits followed to the other threads."""
        evidence, alone = self._resolve(pid, tid)
        waits = waits_of(alone, evidence)
        parts = [
            _overlapping(working(self._resolve(pid, other)[1]), *waits)
            for other in self._tids(pid)
            if other != tid
        ]
        others = Rows.join(parts)
        if not len(others):
            return alone
        urgency = np.isin(others.cause, SETS_UP) - 1 * (others.cause == CODE[Cause.RUN_QUEUE])
        layers = [flatten(others.take(urgency == level)) for level in (1, 0, -1)]
        return self._sweep(replace(evidence, others=over(over(layers[0], layers[1]), layers[2])))

    def _sweep(self, evidence: Evidence) -> Timeline:
        return sweep(evidence, self._start, self._end, no_source=self.no_source)

    def _resolve(self, pid: int, tid: int) -> tuple[Evidence, Timeline]:
        if (pid, tid) not in self._alone:
            evidence = self._evidence(pid, tid)
            self._alone[pid, tid] = evidence, self._sweep(evidence)
        return self._alone[pid, tid]

    def _tids(self, pid: int) -> list[int]:
        mine = [self.spans.tid[self.spans.pid == pid], self.samples.tid[self.samples.pid == pid]]
        return [int(t) for t in np.unique(np.concatenate(mine))]

    def _evidence(self, pid: int, tid: int) -> Evidence:
        which = self.spans.of_thread(pid, tid)
        extra = self._life(pid, tid)
        own = self.spans.rows.take(which)
        asleep = self.spans.is_wait[which]
        keep = (own.kind != int(Kind.NONE)) & ~asleep
        rank = np.concatenate((self.spans.rank[which][keep], np.full(len(extra), -1)))
        off = flatten(
            self._switches.rows.take((self._switches.pid == pid) & (self._switches.tid == tid))
        )
        samples = self._stacks_of_threads(self.samples.of_thread(pid, tid), tid).completed(off)
        first_calls = self._driver_start(own.take(keep), samples)
        rank = np.concatenate((rank, np.full(len(first_calls), -1)))
        spans = flatten(Rows.join([own.take(keep), extra, first_calls]), rank)
        waits = flatten(own.take(asleep))
        gaps, inside, numbers = _split_samples(samples, spans, off)
        device, search = self._process_layers(pid)
        return Evidence(
            spans=spans,
            reads_files=self._of_span(self.spans.reads_files, spans),
            off=off,
            disk=_began_with(off, self._disk[1][self._disk[0] == tid]),
            switches_known=bool((self._switches.pid == pid).any()),
            waits=waits,
            starting=self._starting(tid, over(waits, off), off),
            gaps=gaps,
            inside=inside,
            inside_span=numbers,
            device=device,
            device_known=len(device) > 0,
            search=search,
            children=self._child_rows(pid, tid, over(waits, off)),
            library_start=self._library_start(spans),
        )

    def _process_layers(self, pid: int) -> tuple[Rows, Rows]:
        if pid not in self._per_process:
            search = self.device.search(pid, self.spans, self.texts)
            self._per_process[pid] = self.device.active(pid), search
        return self._per_process[pid]

    def _of_span(self, flags: Bools, spans: Rows) -> Bools:
        real = spans.row < len(flags)
        found = np.zeros(len(spans), dtype=bool)
        found[real] = flags[spans.row[real]]
        return found

    def _driver_start(self, spans: Rows, samples: Samples) -> Rows:
        """The stay in the driver that ends with the thread's first CUDA record: ``cuInit``.

        CUPTI attaches inside the first ``cuInit`` of a process, so it has no record of that call.
        A thread that has no record at all did nothing else in the driver.
        """
        cuda = self._of_span(self.spans.is_api, spans)
        in_driver = samples.time[samples.in_driver]
        if not len(in_driver) or not (cuda.any() or self._cupti_on):
            return Rows.none()
        first = int(spans.start[cuda].min()) if cuda.any() else int(in_driver[-1]) + samples.reach
        before = np.append(in_driver[in_driver < first], first)
        breaks = np.flatnonzero(np.diff(before) > DRIVER_GAP_NS)
        begin = int(before[breaks[-1] + 1] if len(breaks) else before[0])
        if begin >= first:
            return Rows.none()
        record = [(begin, first, self._driver_row)]
        label, source = self.texts("cuInit"), self.texts("samples")
        return Rows.of(record, Cause.DRIVER_INIT, Kind.FIXED, label, source)

    def _library_start(self, spans: Rows) -> Rows:
        """Gaps beside a library's module load, bounded by CUDA calls on both sides."""
        if len(spans) < 2:
            return Rows.none()
        cuda = self._of_span(self.spans.is_api, spans)
        loads = self._of_span(self.spans.loads_module, spans) & np.isin(
            spans.label, [self.texts("cuLibraryLoadData"), self.texts("cuLibraryLoadFromFile")]
        )
        start, end = spans.end[:-1], spans.start[1:]
        gap = (end > start) & (end - start <= LIBRARY_GAP_NS)
        gap &= cuda[:-1] & cuda[1:] & (loads[:-1] | loads[1:])
        which = np.flatnonzero(gap)
        number = np.where(loads[:-1], spans.row[:-1], spans.row[1:])[which]
        label, source = self.texts("host time beside module loads"), self.texts("cuda.driver")
        records = list(
            zip(start[which].tolist(), end[which].tolist(), number.tolist(), strict=True)
        )
        return Rows.of(records, Cause.LIBRARY_HANDLE, Kind.FIXED, label, source)

    def _life(self, pid: int, tid: int) -> Rows:
        """The process's own phases on its main thread: start, the agent's start, exit.

        A process that replaced its program has them once for each.
        """
        main = [t.tid for t in self._trace.tracks if t.pid == pid and t.main] or [pid]
        if tid not in main:
            return Rows.none()
        lives = enumerate(self._launch.processes)
        return Rows.join(self._phases(one, at) for at, one in lives if one.pid == pid)

    def _phases(self, process: Process, at: int) -> Rows:
        row = self._next_row + at * 3
        texts, source = self.texts, self.texts("process")
        begin = min(self._start, process.start_ns) if at == 0 else process.start_ns
        start = [(begin, process.ready_ns, row)]
        agent = [(process.ready_ns, process.ready_ns + process.agent_ns, row + 1)]
        return Rows.join(
            [
                Rows.of(
                    start, Cause.INTERPRETER_START, Kind.FIXED, texts("interpreter start"), source
                ),
                Rows.of(agent, Cause.MEASUREMENT, Kind.COST, texts("agent"), source),
                self._exit(process, row + 2),
            ]
        )

    def _exit(self, process: Process, row: int) -> Rows:
        begin = process.main_end_ns if process.main_end_ns is not None else process.exit_ns
        if begin is None:
            return Rows.none()
        stop = process.end_ns if process.end_ns is not None else self._end
        label, source = self.texts("exit of the process"), self.texts("process")
        return Rows.of(
            [(begin, max(begin, stop), row)], Cause.PROCESS_EXIT, Kind.BUILD, label, source
        )

    def _child_rows(self, pid: int, tid: int, off: Rows) -> Rows:
        """Children that the thread waited for (kind FIXED) or that worked for it (OPEN)."""
        source, parts = self.texts("processes"), []
        for child in self._trace.processes:
            if child.ppid != pid or child.end_ns is None:
                continue
            label = self.texts(child_rules.label(child.argv, child.pid))
            kind = self._child_kind(child.start_ns, child.end_ns, child.cpu_ns, off)
            if kind is Kind.NONE or (kind is Kind.OPEN and child.parent_thread not in (0, tid)):
                continue
            record = [(child.start_ns, child.end_ns, self._children[child.pid])]
            parts.append(Rows.of(record, Cause.CHILD_PROCESS, kind, label, source))
        return flatten(Rows.join(parts))

    def _child_kind(self, start: int, end: int, cpu: int | None, off: Rows) -> Kind:
        near = (off.start < end) & (off.end >= end) & (off.end > start)
        near &= (off.end <= end + child_rules.ENDS_WITHIN_NS) | (off.start <= start)
        if bool(near.any()):
            return Kind.FIXED
        busy = cpu is not None and cpu >= child_rules.BUSY_SHARE * (end - start)
        return Kind.OPEN if busy else Kind.NONE

    def _read_switches(self) -> _Switches:
        columns = self._trace.off_cpu
        start, track = column(columns.start), column(columns.track)
        runnable = column(columns.runnable) > 0
        count, texts = len(start), self.texts
        code = np.where(runnable, CODE[Cause.RUN_QUEUE], CODE[Cause.LOCK_WAIT])
        label = np.where(runnable, texts("preempted"), texts("off the CPU"))
        same = np.ones(count, dtype=np.int64)
        row = self._next_row + np.arange(count)
        self._next_row += count
        rows = Rows(
            start, column(columns.end), code, same * 0, label, same * texts("context switches"), row
        )
        return _Switches(rows, *owners(self._trace, track))

    def _moments(self, kind: str) -> tuple[Ints, Ints]:
        """Return threads and moments of an event, by time."""
        events = self._trace.events
        hit = (column(events.kind) == index_of(self._trace, kind)) & (column(events.value) != 0)
        _, tids = owners(self._trace, column(events.track)[hit])
        time = column(events.time)[hit]
        order = np.argsort(time, kind="stable")
        return tids[order], time[order]

    def _stacks_of_threads(self, samples: Samples, tid: int) -> Samples:
        """Cut stacks beside the start of a thread: the C library maps and guards its stack."""
        births, times = self._births
        own = times[births == tid]
        first = np.searchsorted(own, samples.time - _STACK_NS)
        some = first < np.searchsorted(own, samples.time + _STACK_NS)
        near: Bools = samples.cut & some
        cause = np.where(near, CODE[Cause.THREAD_START], samples.cause)
        return replace(samples, cause=cause, cut=samples.cut & ~near)

    def _starting(self, tid: int, asleep: Rows, off: Rows) -> Rows:
        """Short waits that began when the thread had just started another one.

        Time on the run queue between the two does not count.
        """
        births, times = self._births
        queued = off.take(off.cause == CODE[Cause.RUN_QUEUE])
        start, end = on_cpu(asleep.start, queued), on_cpu(asleep.end, queued)
        soon = _began_with(asleep.moved(start, end), on_cpu(times[births == tid], queued))
        short = asleep.end - asleep.start <= THREAD_WAIT_NS
        chosen = asleep.take(soon & short & (asleep.cause == CODE[Cause.LOCK_WAIT]))
        return replace(chosen, cause=np.full(len(chosen), CODE[Cause.THREAD_START], dtype=np.int64))


def _split_samples(samples: Samples, spans: Rows, off: Rows) -> tuple[Rows, Rows, Ints]:
    """Samples outside spans, and those inside open spans with the number of the span."""
    at = spans.at(samples.time)
    outside = samples.take(at < 0).rows(off)
    if not len(spans):
        return outside, Rows.none(), np.empty(0, dtype=np.int64)
    within = (at >= 0) & (spans.kind[at] == int(Kind.OPEN))
    return outside, samples.take(within).rows(off), spans.row[at[within]]


def _began_with(waits: Rows, times: Ints) -> Bools:
    """Whether one of the sorted ``times`` lies just before or in each wait."""
    before = np.searchsorted(times, waits.start - _BEGINS_NS)
    found: Bools = np.searchsorted(times, waits.end, side="right") > before
    return found


def _overlapping(rows: Rows, start: Ints, end: Ints) -> Rows:
    """Keep the rows that touch one of the sorted, disjoint intervals."""
    if not len(start):
        return Rows.none()
    at = np.searchsorted(end, rows.start, side="right")
    touch = (at < len(start)) & (start[np.minimum(at, len(start) - 1)] < rows.end)
    return rows.take(touch)
