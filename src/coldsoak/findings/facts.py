"""From a trace to the figures that findings are made from."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from coldsoak.findings.cards import peaks
from coldsoak.findings.repeats import explained, jit_callers, modules, repeats, shared_misses
from coldsoak.ledger.arrays import Ints, column, index_of, merge, owners
from coldsoak.ledger.names import short_kernel
from coldsoak.ledger.spans import key_of
from coldsoak.model.facts import Card, Copied, Event, Facts, KernelUse, Memory, Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coldsoak.model.result import Execution, Launch
    from coldsoak.model.trace import Trace

__all__ = ["extract", "messages_of", "placements_of"]

RUNS_AT_EACH_END = 25
"""Runs of a series whose work is kept: the first, and as many of the last."""
KERNELS_OF_A_RUN = 12
KERNELS_OF_A_LAUNCH = 24
EVENTS = 200
DETAILS = 8
STARTS = 32

_EVENT_SOURCES = {
    *("jax", "torch", "triton", "tensorflow", "onednn", "numba", "nvrtc"),
    *("cuda.jit", "cuda.overhead", "child", "wait"),
}
_CALLS = {"cuda.driver", "cuda.runtime"}


def extract(trace: Trace, launch: Launch, log: str = "") -> Facts:
    """Return the facts of one traced launch.

    Args:
        trace: Of the launch.
        launch: For its executions; times of both are ns since its spawn.
        log: The launch's output, for what frameworks said about devices.

    """
    operations = _Operations(trace)
    return Facts(
        cards=tuple(_cards(trace)),
        work=tuple(operations.work(launch)),
        device_seen=any(s.name == "cupti" and s.state == "on" for s in trace.sources),
        kernels=operations.kernels(slice(None), KERNELS_OF_A_LAUNCH),
        copies=operations.copies(slice(None)),
        memory=tuple(_memory(trace)),
        events=_events(trace),
        repeats=repeats(trace),
        modules=modules(trace, launch),
        shared_misses=shared_misses(trace),
        jit_callers=jit_callers(trace),
        libraries=tuple(sorted(p for k, p in trace.info.items() if k.startswith("library:"))),
        placements=placements_of(log),
        explained=explained(log),
        messages=messages_of(log),
    )


def _cards(trace: Trace) -> Iterator[Card]:
    for key, text in sorted(trace.info.items()):
        if not key.startswith("cuda.device."):
            continue
        info = json.loads(text)
        capability = f"{info.get('major', 0)}.{info.get('minor', 0)}"
        clock = info.get("clock", 0) * 1e3
        yield Card(
            index=int(info.get("device", 0)),
            name=str(info.get("name", "")),
            capability=capability,
            multiprocessors=int(info.get("multiprocessors", 0)),
            clock_hz=clock,
            memory_bytes=int(info.get("memory", 0)),
            bandwidth=info.get("bandwidth", 0) * 1e3,
            peaks=peaks(capability, int(info.get("multiprocessors", 0)), clock),
        )


class _Operations:
    """Device operations in columns, with the moment at which each was queued."""

    def __init__(self, trace: Trace) -> None:
        ops = trace.device
        self._strings = trace.strings
        self._kernel = index_of(trace, "kernel")
        self._start, self._end = column(ops.start), column(ops.end)
        self._pid, self._device = column(ops.pid), column(ops.device)
        self._kind, self._name = column(ops.kind), column(ops.name)
        self._bytes = column(ops.bytes_moved)
        queued = _queued(trace, self._pid, column(ops.correlation), self._start)
        self._order = np.argsort(queued, kind="stable")
        self._queued = queued[self._order]

    def work(self, launch: Launch) -> Iterator[Work]:
        """Yield what each kept run queued."""
        if not len(self._start):
            return
        for execution in _kept(launch.executions):
            ends = (execution.start_ns, execution.end_ns)
            first, last = np.searchsorted(self._queued, ends, side="left")
            mine = self._order[first:last]
            mine = mine[self._pid[mine] == execution.pid]
            kernels = self.kernels(mine, KERNELS_OF_A_RUN)
            yield Work(
                series=execution.series,
                run=execution.run,
                busy_ns=_total(*merge(self._start[mine], self._end[mine])),
                tail_ns=max(int(self._end[mine].max()) - execution.end_ns, 0) if len(mine) else 0,
                devices=tuple(sorted({int(d) for d in self._device[mine]})),
                kernels=kernels,
                kernel_count=int((self._kind[mine] == self._kernel).sum()),
                copies=self.copies(mine),
            )

    def kernels(self, which: Ints | slice, most: int) -> tuple[KernelUse, ...]:
        """Return the kernels among ``which``, most time first."""
        count: Counter[str] = Counter()
        time: Counter[str] = Counter()
        kind, name = self._kind[which], self._name[which]
        kernel = kind == self._kernel
        length = (self._end - self._start)[which][kernel]
        names, place = np.unique(name[kernel], return_inverse=True)
        sums = np.bincount(place, weights=length, minlength=len(names))
        for number, ns, times in zip(names, sums, np.bincount(place), strict=True):
            text = short_kernel(self._strings[number]) if number >= 0 else "kernel"
            count[text] += int(times)
            time[text] += int(ns)
        return tuple(KernelUse(name=n, count=count[n], ns=ns) for n, ns in time.most_common(most))

    def copies(self, which: Ints | slice) -> tuple[Copied, ...]:
        """Return the copies among ``which`` by direction; those inside the host are left out."""
        kinds, place = np.unique(self._kind[which], return_inverse=True)
        ns = np.bincount(place, weights=(self._end - self._start)[which], minlength=len(kinds))
        size = np.bincount(place, weights=self._bytes[which], minlength=len(kinds))
        count = np.bincount(place, minlength=len(kinds))
        texts = [self._strings[kind] for kind in kinds]
        return tuple(
            Copied(kind=texts[i], count=int(count[i]), ns=int(ns[i]), bytes=int(size[i]))
            for i in sorted(range(len(kinds)), key=lambda i: texts[i])
            if "to" in texts[i] and texts[i] != "HtoH"
        )


def _queued(trace: Trace, pid: Ints, correlation: Ints, start: Ints) -> Ints:
    """Return when the call that queued each operation began; its own start where none is known."""
    spans = trace.spans
    calls = [i for i, text in enumerate(trace.strings) if text in _CALLS]
    link = column(spans.correlation)
    chosen = np.flatnonzero(np.isin(column(spans.source), calls) & (link > 0))
    if not len(chosen) or not len(start):
        return start
    begin = column(spans.start)[chosen]
    chosen, begin = chosen[np.argsort(begin, kind="stable")], np.sort(begin, kind="stable")
    pids, _ = owners(trace, column(spans.track)[chosen])
    keys, first = np.unique(key_of(pids, link[chosen]), return_index=True)
    wanted = key_of(pid, correlation)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    known = (keys[place] == wanted) & (correlation > 0)
    return np.where(known, begin[first[place]], start)


def _kept(executions: Iterable[Execution]) -> list[Execution]:
    series: dict[str, list[Execution]] = defaultdict(list)
    for execution in executions:
        series[execution.series].append(execution)
    kept = []
    for runs in series.values():
        runs.sort(key=lambda e: e.run)
        last = max(RUNS_AT_EACH_END, len(runs) - RUNS_AT_EACH_END)
        kept += [*runs[:RUNS_AT_EACH_END], *runs[last:]]
    return kept


def _total(start: Ints, end: Ints) -> int:
    return int((end - start).sum())


def _memory(trace: Trace) -> Iterator[Memory]:
    events = trace.events
    sizes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    columns = (events.kind, events.name, events.value, events.time)
    for kind, name, size, ns in zip(*(column(c).tolist() for c in columns), strict=True):
        if trace.strings[kind] == "alloc":
            sizes[trace.strings[name] if name >= 0 else "other"].append((size, ns))
    for kind_name, found in sorted(sizes.items()):
        largest, moment = max(found)
        yield Memory(
            kind=kind_name,
            count=len(found),
            total=sum(size for size, _ in found),
            largest=largest,
            largest_ns=moment,
        )


def _events(trace: Trace) -> tuple[Event, ...]:
    spans = trace.spans
    wanted = [i for i, text in enumerate(trace.strings) if text in _EVENT_SOURCES]
    source = column(spans.source)
    chosen = np.flatnonzero(np.isin(source, wanted))
    chosen = chosen[np.argsort(column(spans.start)[chosen], kind="stable")]
    groups: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    columns = (spans.source, spans.name, spans.start, spans.end, spans.detail)
    rows = zip(*(column(c)[chosen].tolist() for c in columns), strict=True)
    for origin, name, start, end, detail in rows:
        groups[origin, name].append((start, end - start, detail))
    text = trace.strings
    events = [
        Event(
            source=text[origin],
            name=text[name],
            count=len(found),
            ns=sum(ns for _, ns, _ in found),
            details=tuple(dict.fromkeys(text[d] for _, _, d in found if d >= 0 and text[d]))[
                :DETAILS
            ],
            starts=tuple(start for start, _, _ in found[:STARTS]),
        )
        for (origin, name), found in groups.items()
    ]
    events.sort(key=lambda event: (-event.ns, event.source, event.name))
    return tuple(events[:EVENTS])


_PLACED = re.compile(r"(?:in device|: \(\w+\): ?)\s*\S*?/?(device:[A-Z_]+:\d+)")
_MISSING = re.compile(
    r"Could not find cuda drivers|Could not load dynamic library|Cannot dlopen some GPU"
    r"|CUDA-enabled jaxlib is not installed|Falling back to cpu|GPU will not be used"
    r"|CUDA_ERROR_NO_DEVICE|no CUDA-capable device|CUDAExecutionProvider.* not in available"
    r"|Failed to create CUDAExecutionProvider|Cannot assign a device for operation",
    re.IGNORECASE,
)
_LINE = 300


def placements_of(log: str) -> dict[str, int]:
    """Return how many operations TensorFlow's placement log names for each device."""
    return dict(Counter(match[1] for match in _PLACED.finditer(log)))


def messages_of(log: str) -> tuple[str, ...]:
    """Return the lines of a log in which a framework says that it found no device, each once."""
    lines = (line.strip()[:_LINE] for line in log.splitlines() if _MISSING.search(line))
    return tuple(dict.fromkeys(lines))[:8]
