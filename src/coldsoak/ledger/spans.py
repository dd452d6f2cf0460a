"""The spans of a trace with their verdicts, after the corrections that need more than a name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coldsoak.ledger.arrays import Bools, Ints, Rows, Texts, column, index_of, owners
from coldsoak.ledger.rules import cuda, imports
from coldsoak.ledger.rules.base import CODE, Kind
from coldsoak.ledger.rules.spans import span_label, verdict
from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from coldsoak.model.trace import Trace

__all__ = ["SpanTable", "key_of", "read_spans"]

_RANK = {"cuda.runtime": 1, "cuda.driver": 2, "cuda.sync": 3, "cuda.jit": 4, "cuda.overhead": 5}
_COST_RANK = 9
_CALLS = frozenset({"cuda.driver", "cuda.runtime"})
_NESTING = 64
"""Calls before an overhead record among which the one around it is sought."""


@dataclass(frozen=True, slots=True)
class SpanTable:
    """Every span, in the order of the trace."""

    rows: Rows
    pid: Ints
    tid: Ints
    rank: Ints
    correlation: Ints
    bytes: Ints
    """Allocated by the call, from the allocation events inside it."""
    is_api: Bools
    loads_module: Bools
    reads_files: Bools
    is_part: Bools
    """A step of an import that has a span of its own; not counted again."""
    is_wait: Bools
    """Where a thread slept; beside the other spans, for those say what it does."""

    def of_thread(self, pid: int, tid: int) -> Ints:
        """Return the indices of a thread's spans."""
        return np.flatnonzero((self.pid == pid) & (self.tid == tid))


@dataclass(frozen=True, slots=True)
class _Places:
    """The columns that tell which thread a record belongs to."""

    pid: Ints
    tid: Ints
    start: Ints
    end: Ints
    correlation: Ints
    source: Ints


def key_of(pid: Ints, correlation: Ints) -> Ints:
    """Return one number per (process, CUPTI correlation id): ids count from 1 in each process."""
    return pid * (1 << 33) + correlation


def read_spans(trace: Trace, texts: Texts) -> SpanTable:
    """Decode the spans of ``trace`` and judge each."""
    columns = trace.spans
    start, end = column(columns.start), column(columns.end)
    source, name = column(columns.source), column(columns.name)
    correlation, track = column(columns.correlation), column(columns.track)
    pid, tid = owners(trace, track)

    pairs, which = np.unique(source * len(trace.strings) + name, return_inverse=True)
    judged = [_judge(trace, int(pair), texts) for pair in pairs]
    table = np.array(judged, dtype=np.int64).reshape(len(judged), len(_Judged._fields))[which]
    seen = _Judged(*table.T.copy())
    rows = Rows(start, end, seen.cause, seen.kind, seen.label, seen.source, np.arange(len(start)))
    spans = SpanTable(
        rows=rows,
        pid=pid,
        tid=_place(trace, _Places(pid, tid, start, end, correlation, source)),
        rank=seen.rank,
        correlation=correlation,
        bytes=np.zeros(len(start), dtype=np.int64),
        is_api=seen.is_api > 0,
        loads_module=seen.loads_module > 0,
        reads_files=seen.reads_files > 0,
        is_part=seen.is_part > 0,
        is_wait=seen.is_wait > 0,
    )
    _correct(spans, trace, texts)
    return spans


class _Judged(NamedTuple):
    """What is known of a span by its source and name: one row of numbers, or columns of them."""

    cause: Any
    kind: Any
    label: Any
    source: Any
    rank: Any
    is_api: Any = 0
    loads_module: Any = 0
    reads_files: Any = 0
    is_part: Any = 0
    is_wait: Any = 0


def _judge(trace: Trace, pair: int, texts: Texts) -> _Judged:
    origin, title = divmod(pair, len(trace.strings))
    source, name = trace.strings[origin], trace.strings[title]
    if source == "child":  # a layer of its own: the thread may work while its child does
        none = int(Kind.NONE)
        return _Judged(CODE[Cause.CHILD_PROCESS], none, texts(name), texts(source), rank=0)
    found, label = verdict(source, name), span_label(source, name)
    return _Judged(
        cause=CODE[found.cause],
        kind=int(found.kind),
        label=texts(label),
        source=texts(source),
        rank=_COST_RANK if found.kind is Kind.COST else _RANK.get(source, 0),
        is_api=source in _CALLS,
        loads_module=source in {*_CALLS, "cuda.overhead"} and bool(cuda.LOADS_MODULE.match(label)),
        reads_files=source in imports.READS_FILES,
        is_part=source in imports.STEPS,
        is_wait=source == "wait",
    )


def _place(trace: Trace, places: _Places) -> Ints:
    """Give records of a whole process (tid 0) the thread of the call that they belong to."""
    pid, correlation = places.pid, places.correlation
    lost = places.tid == 0
    if not lost.any():
        return places.tid
    tid: Ints = places.tid.copy()
    known = np.flatnonzero(~lost & (correlation > 0))
    known = known[np.lexsort((places.tid[known], places.source[known], places.start[known]))]
    keys, first = np.unique(key_of(pid[known], correlation[known]), return_index=True)
    wanted = key_of(pid, correlation)
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if len(keys):
        hit = lost & (correlation > 0) & (keys[place] == wanted)
        tid[hit] = tid[known[first[place[hit]]]]
    _place_by_time(trace, places, tid)
    return tid


def _place_by_time(trace: Trace, places: _Places, tid: Ints) -> None:
    """Overhead without a thread happened in the call around it, else on the main thread.

    Synchronisation without a thread stays nowhere: its call is a record of its own.
    """
    pid, start, end = places.pid, places.start, places.end
    main = {t.pid: t.tid for t in trace.tracks if t.main}
    origins = [index_of(trace, "cuda.driver"), index_of(trace, "cuda.runtime")]
    calls = np.flatnonzero(np.isin(places.source, origins) & (tid != 0))
    calls = calls[np.lexsort((tid[calls], -end[calls], start[calls]))]
    overhead = places.source == index_of(trace, "cuda.overhead")
    for at in np.flatnonzero((tid == 0) & overhead).tolist():
        tid[at] = main.get(int(pid[at]), int(pid[at]))
        last = int(np.searchsorted(start[calls], start[at], side="right"))
        near = calls[max(0, last - _NESTING) : last]
        around = near[(end[near] >= end[at]) & (pid[near] == pid[at])]
        if len(around):
            tid[at] = tid[around[-1]]


def _correct(spans: SpanTable, trace: Trace, texts: Texts) -> None:
    """Apply the rules that look beyond one record; writes into the columns of ``spans``."""
    names = np.array([*texts.all(), ""], dtype=object)
    _copies_by_direction(spans, trace, names)
    _first_launches(spans, names)
    _contexts(spans, names)
    _pools(spans, trace, names)


def _copies_by_direction(spans: SpanTable, trace: Trace, names: npt.NDArray[np.object_]) -> None:
    ops = trace.device
    key = key_of(column(ops.pid), column(ops.correlation))
    if not len(key):
        return
    vague = _labels(names, r"cu(da)?Memcpy(?!.*(HtoD|DtoH|Symbol|Array))")
    calls = np.flatnonzero(np.isin(spans.rows.label, vague) & spans.is_api)
    order = np.lexsort((column(ops.kind), column(ops.end), column(ops.start), key))
    place = np.minimum(
        np.searchsorted(key[order], key_of(spans.pid[calls], spans.correlation[calls])),
        len(key) - 1,
    )
    found = order[place]
    match = key[found] == key_of(spans.pid[calls], spans.correlation[calls])
    kinds = column(ops.kind)[found]
    for call, kind, ok in zip(calls.tolist(), kinds.tolist(), match.tolist(), strict=True):
        if not ok:
            continue
        cause = cuda.device_cause(trace.strings[kind])
        back = cause is Cause.DEVICE_TO_HOST
        spans.rows.cause[call] = CODE[
            Cause.KERNEL_LAUNCH if cause is Cause.DEVICE_COMPUTE else cause
        ]
        spans.rows.kind[call] = int(Kind.SYNC if back else Kind.FIXED)


def _first_launches(spans: SpanTable, names: npt.NDArray[np.object_]) -> None:
    """A launch that loaded its kernel is ``lazy_kernel_load`` as a whole."""
    lazy = np.isin(spans.rows.label, _labels(names, "LAZY_FUNCTION"))
    launch = np.isin(spans.rows.label, _labels(names, r"cu(da)?Launch")) & spans.is_api
    keys = key_of(spans.pid, spans.correlation)
    loaded = launch & (spans.correlation > 0) & np.isin(keys, keys[lazy & (spans.correlation > 0)])
    threads = key_of(spans.pid, spans.tid)
    for thread in np.unique(threads[lazy]).tolist():
        mine = threads == thread
        loading = np.sort(spans.rows.start[mine & lazy])
        calls = np.flatnonzero(mine & launch)
        begun = np.searchsorted(loading, spans.rows.start[calls])
        done = np.searchsorted(loading, spans.rows.end[calls])
        loaded[calls[done > begun]] = True
    spans.rows.cause[loaded] = CODE[Cause.LAZY_KERNEL_LOAD]


def _contexts(spans: SpanTable, names: npt.NDArray[np.object_]) -> None:
    """The first long bookkeeping call of a process set up the device's primary context.

    The runtime creates it inside whichever call comes first (``cudaFree(0)``, ``cudaSetDevice``,
    ``cudaDeviceGetStreamPriorityRange``), and CUPTI records no call of its own for that.
    """
    explicit = _labels(names, r"cuDevicePrimaryCtxRetain|cuCtxCreate")
    vague = [i for i, name in enumerate(names[:-1]) if cuda.may_create_context(name)]
    long = spans.is_api & (spans.rows.end - spans.rows.start >= cuda.MAY_CREATE_CONTEXT_NS)
    told = long & np.isin(spans.rows.label, explicit)
    guess = long & np.isin(spans.rows.label, vague)
    for pid in np.unique(spans.pid[guess]).tolist():
        if (told & (spans.pid == pid)).any():
            continue
        mine = np.flatnonzero(guess & (spans.pid == pid))
        first = mine[np.argmin(spans.rows.start[mine])]
        spans.rows.cause[first] = CODE[Cause.CONTEXT_CREATE]


def _pools(spans: SpanTable, trace: Trace, names: npt.NDArray[np.object_]) -> None:
    """Allocations of a large part of the card are pools; the size comes from the events."""
    events = trace.events
    kinds = column(events.kind)
    alloc = np.flatnonzero(kinds == index_of(trace, "alloc"))
    if not len(alloc):
        return
    labels = [i for i, name in enumerate(names[:-1]) if cuda.ALLOCATES.match(name)]
    calls = np.flatnonzero(np.isin(spans.rows.label, labels) & spans.is_api)
    calls = calls[np.lexsort((spans.rows.end[calls], spans.rows.start[calls]))]
    pids, _ = owners(trace, column(events.track)[alloc])
    when, size = column(events.time)[alloc], column(events.value)[alloc]
    for pid in np.unique(pids).tolist():
        mine = pids == pid
        _book_bytes(spans, calls[spans.pid[calls] == pid], when[mine], size[mine])
    card = _card_bytes(trace)
    limit = int(card * cuda.POOL_SHARE) if card else cuda.POOL_BYTES
    spans.rows.cause[calls[spans.bytes[calls] >= limit]] = CODE[Cause.POOL_RESERVE]


def _book_bytes(spans: SpanTable, calls: Ints, when: Ints, size: Ints) -> None:
    """Give each allocation of one process to the call that made it; ``calls`` are by start."""
    if not len(calls):
        return
    at = np.searchsorted(spans.rows.start[calls], when, side="right") - 1
    call = calls[np.maximum(at, 0)]
    # CUPTI stamps the allocation when the call returns, within microseconds
    inside = (at >= 0) & (when <= spans.rows.end[call] + 100_000)
    np.add.at(spans.bytes, call[inside], size[inside])


def _card_bytes(trace: Trace) -> int:
    """Return the memory of the smallest device, 0 where none is known."""
    told = [json.loads(v) for k, v in trace.info.items() if k.startswith("cuda.device.")]
    return min((int(d["memory"]) for d in told if d.get("memory")), default=0)


def _labels(names: npt.NDArray[np.object_], pattern: str) -> list[int]:
    compiled = re.compile(pattern)
    return [i for i, name in enumerate(names[:-1]) if compiled.match(name)]
