"""What the devices did, and which of it was a search for the fastest algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coldsoak.ledger.arrays import (
    Bools,
    Ints,
    Rows,
    Texts,
    clip,
    column,
    covered,
    flatten,
    index_of,
    merge,
)
from coldsoak.ledger.names import short_kernel
from coldsoak.ledger.rules import cuda
from coldsoak.ledger.rules.base import CODE, Kind
from coldsoak.ledger.spans import SpanTable, key_of
from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from coldsoak.model.trace import Trace

__all__ = ["SEARCH_GAP_NS", "Device", "Run", "read_device"]

SEARCH_GAP_NS = 2_000_000
"""Candidates at most this far apart belong to one search: its set-up and checks lie between."""

_BUILDING = [CODE[Cause.COMPILE], CODE[Cause.ALGORITHM_SEARCH], CODE[Cause.CACHE_LOOKUP]]


@dataclass(frozen=True, slots=True)
class Run:
    """The windows of one series in one process: its first run and the later ones, in ns."""

    pid: int
    first: tuple[int, int]
    later: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Device:
    """Device work of all processes; row numbers follow those of the spans."""

    rows: Rows
    pid: Ints
    bytes: Ints
    correlation: Ints
    candidate: Bools
    """Kernels launched by a compiler to time them."""
    launched: Ints
    """Start of the call that queued the work, in ns; its own start where the call is unknown."""
    checked: tuple[tuple[int, int, int], ...]
    """(pid, start, end): searches known by the compiler's own checks of its candidates."""

    def active(self, pid: int) -> Rows:
        """Return what the devices did for a process, one operation at each instant."""
        return flatten(self.rows.take(self.pid == pid))

    def search(self, pid: int, spans: SpanTable, texts: Texts) -> Rows:
        """Return the stretches in which a compiler was trying candidates on the device."""
        mine = self.candidate & (self.pid == pid)
        if not mine.any():
            return Rows.none()
        start, end = merge(self.launched[mine], self.rows.end[mine], SEARCH_GAP_NS)
        number = int(self.rows.row[mine].min())
        found = [(s, e, number) for s, e in zip(start.tolist(), end.tolist(), strict=True)]
        label, source = texts("between candidates"), texts("device")
        around = Rows.of(found, Cause.ALGORITHM_SEARCH, Kind.FIXED, label, source)
        tried = Rows.join([around, self.rows.take(mine)])
        rank = np.concatenate((np.zeros(len(around)), np.ones(int(mine.sum())))).astype(np.int64)
        build_start, build_end = _building(spans, pid)
        checked = np.array([c[1:] for c in self.checked if c[0] == pid], dtype=np.int64)
        checked = checked.reshape(-1, 2)
        starts = np.concatenate((build_start, checked[:, 0]))
        ends = np.concatenate((build_end, checked[:, 1]))
        return clip(flatten(tried, rank), *merge(starts, ends))


def read_device(
    trace: Trace,
    spans: SpanTable,
    texts: Texts,
    runs: list[Run],
    user_threads: set[tuple[int, int]],
) -> Device:
    """Decode device operations and tell the program's own kernels from candidates."""
    ops = trace.device
    start, end, pid = column(ops.start), column(ops.end), column(ops.pid)
    kind, name = column(ops.kind), column(ops.name)
    cause, label = _judge(trace, kind, name, texts)
    key = key_of(pid, column(ops.correlation))
    launched, caller = _launches(key, start, spans)
    kernel, memset = (kind == index_of(trace, what) for what in ("kernel", "memset"))
    candidate = (kernel | memset) & _in_compile(pid, launched, caller, spans, user_threads)
    checked = _checked(trace, start, end, pid, name)
    for process, begin, stop in checked:
        inside = (pid == process) & (start >= begin) & (end <= stop)
        candidate |= (kernel | memset) & inside
    absent = kernel & _absent_later(start, name, pid, runs)
    cause[candidate | absent] = CODE[Cause.ALGORITHM_SEARCH]
    same = np.ones(len(start), dtype=np.int64)
    fixed, source = same * int(Kind.FIXED), same * texts("device")
    rows = Rows(start, end, cause, fixed, label, source, np.arange(len(start)) + len(spans.rows))
    moved = np.where(memset, 0, column(ops.bytes_moved))
    return Device(rows, pid, moved, column(ops.correlation), candidate, launched, checked)


def _judge(trace: Trace, kind: Ints, name: Ints, texts: Texts) -> tuple[Ints, Ints]:
    """Return cause and label of each operation, before any search is known."""
    size = len(trace.strings) + 1
    unique, which = np.unique(kind * size + name + 1, return_inverse=True)
    judged = np.empty((len(unique), 2), dtype=np.int64)
    for i, pair in enumerate(unique.tolist()):
        k, n = divmod(pair, size)
        what = trace.strings[k]
        judged[i, 0] = CODE[cuda.device_cause(what)]
        judged[i, 1] = texts(short_kernel(trace.strings[n - 1]) if n else what)
    cause, label = judged[which].reshape(len(kind), 2).T.copy()
    return cause, label


def _launches(key: Ints, start: Ints, spans: SpanTable) -> tuple[Ints, Ints]:
    """Return when each operation was queued and by which span (-1: unknown)."""
    calls = np.flatnonzero(spans.is_api & (spans.correlation > 0))
    calls = calls[np.lexsort((spans.tid[calls], spans.rows.end[calls], spans.rows.start[calls]))]
    keys, first = np.unique(key_of(spans.pid[calls], spans.correlation[calls]), return_index=True)
    if not len(keys) or not len(key):
        return start, np.full(len(start), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    caller = np.where(keys[place] == key, calls[first[place]], -1)
    launched = np.where(caller >= 0, np.minimum(spans.rows.start[caller], start), start)
    return launched, caller


def _building(spans: SpanTable, pid: int, tid: int | None = None) -> tuple[Ints, Ints]:
    mine = (spans.rows.kind == int(Kind.BUILD)) & np.isin(spans.rows.cause, _BUILDING)
    mine &= spans.pid == pid
    if tid is not None:
        mine &= spans.tid == tid
    return merge(spans.rows.start[mine], spans.rows.end[mine])


def _in_compile(
    pid: Ints, launched: Ints, caller: Ints, spans: SpanTable, user_threads: set[tuple[int, int]]
) -> Bools:
    """Launched while a compiler worked; by a thread of the program only inside its own compile."""
    found = np.zeros(len(pid), dtype=bool)
    tid = np.where(caller >= 0, spans.tid[caller], 0) if len(spans.rows) else np.zeros_like(pid)
    for process in np.unique(pid).tolist():
        mine = pid == process
        found |= mine & covered(launched, *_building(spans, process))
        for user_pid, user_tid in user_threads:
            if user_pid == process:
                own = mine & (tid == user_tid)
                found[own] &= covered(launched[own], *_building(spans, process, user_tid))
    return found


def _checked(
    trace: Trace, start: Ints, end: Ints, pid: Ints, name: Ints
) -> tuple[tuple[int, int, int], ...]:
    """Return the stretches of device work between checks of candidates, with their process."""
    checks = [i for i, text in enumerate(trace.strings) if cuda.CHECKS_CANDIDATE.search(text)]
    is_check = np.isin(name, checks)
    found = []
    for process in np.unique(pid[is_check]).tolist():
        mine = pid == process
        first, stop = start[mine & is_check], end[mine & is_check]
        begins, _ = merge(start[mine], end[mine], SEARCH_GAP_NS)
        stretch = np.searchsorted(begins, first, side="right")
        for number in np.unique(stretch).tolist():
            own = stretch == number
            found.append((process, int(first[own].min()), int(stop[own].max())))
    return tuple(found)


def _absent_later(start: Ints, name: Ints, pid: Ints, runs: list[Run]) -> Bools:
    """Kernels of a first run that no later run of its series uses, where there are two such.

    One alone may be an initialisation; several different ones that lose are a search.
    """
    found = np.zeros(len(start), dtype=bool)
    for run in runs:
        mine = pid == run.pid
        windows = np.array(run.later, dtype=np.int64).reshape(-1, 2)
        later = mine & covered(start, *merge(windows[:, 0], windows[:, 1]))
        if not later.any():
            continue
        first = mine & (start >= run.first[0]) & (start < run.first[1])
        losers = first & ~np.isin(name, name[later])
        if len(np.unique(name[losers])) >= 2:
            found |= losers
    return found
