"""Host samples in columns: one verdict per distinct stack, one interval per sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from coldsoak.ledger.arrays import Bools, Ints, Rows, Texts, column, owners
from coldsoak.ledger.names import short_symbol
from coldsoak.ledger.rules import samples as rules
from coldsoak.ledger.rules.base import CODE, Kind
from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from coldsoak.model.trace import Trace

__all__ = ["Samples", "on_cpu", "read_samples"]

_FAR = 1 << 60
_INTERRUPTS = [CODE[Cause.PAGE_FAULT], CODE[Cause.PAGE_IN]]


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples sorted by time."""

    time: Ints
    pid: Ints
    tid: Ints
    cause: Ints
    label: Ints
    row: Ints
    in_driver: Bools
    """Code of the CUDA driver, whatever it is called for."""
    cut: Bools
    """No frame says what kind of code ran."""
    reach: int
    """ns on either side that a sample speaks for at most."""
    source: int

    def of_thread(self, pid: int, tid: int) -> Samples:
        """Return one thread's samples."""
        return self.take((self.pid == pid) & (self.tid == tid))

    def take(self, which: Ints | np.ndarray) -> Samples:
        """Return the samples at ``which``."""
        return Samples(
            self.time[which],
            self.pid[which],
            self.tid[which],
            self.cause[which],
            self.label[which],
            self.row[which],
            self.in_driver[which],
            self.cut[which],
            self.reach,
            self.source,
        )

    def completed(self, off: Rows) -> Samples:
        """Give one thread's cut stacks the cause on both sides, where these agree.

        A stack is cut where a function keeps no frame pointer, which most of the C library does
        not: a ``memcpy`` between two samples of one compiler on one thread was called by it.
        Distances count in CPU time: ``off`` is when the thread had none. A page fault is no
        witness: it interrupts code, and calls none.
        """
        known = np.flatnonzero(~self.cut & ~np.isin(self.cause, _INTERRUPTS))
        if not len(known) or not self.cut.any():
            return self
        time, count = on_cpu(self.time, off), len(self.time)
        place = np.searchsorted(known, np.arange(count))
        before, after = known[np.maximum(place - 1, 0)], known[np.minimum(place, len(known) - 1)]
        near = self.cut & (place > 0) & (place < len(known))
        near &= self.cause[before] == self.cause[after]
        near &= (time - time[before] <= self.reach) & (time[after] - time <= self.reach)
        cause = np.where(near, self.cause[before], self.cause)
        return replace(self, cause=cause, label=np.where(near, self.label[before], self.label))

    def rows(self, off: Rows) -> Rows:
        """Return the time around each sample of one thread: to the middle between neighbours.

        In CPU time, for that is what the sampler counts: ``off`` is when the thread had none. Past
        such a break a sample speaks for one more period.
        """
        if not len(self.time):
            return Rows.none()
        time = on_cpu(self.time, off)
        middle = (time[1:] + time[:-1]) // 2
        breaks = np.concatenate(([time[0] - _FAR], on_cpu(off.start, off), [time[-1] + _FAR]))
        after = np.searchsorted(breaks, time, side="left")
        period = self.reach // rules.GAP
        low = np.maximum(time - self.reach, breaks[after - 1] - period)
        high = np.minimum(time + self.reach, breaks[after] + period)
        start = np.maximum(np.concatenate((low[:1], middle)), low)
        end = np.minimum(np.concatenate((middle, high[-1:])), high)
        same = np.ones(len(time), dtype=np.int64)
        return Rows(
            np.minimum(_on_clock(start, off), self.time),
            np.maximum(_on_clock(end, off), self.time),
            self.cause,
            same * int(Kind.FIXED),
            self.label,
            same * self.source,
            self.row,
        )


def on_cpu(time: Ints, off: Rows) -> Ints:
    """Return how much of the time until each moment the thread was on a CPU, in ns."""
    before = np.concatenate(([0], np.cumsum(off.end - off.start)))
    ended = np.searchsorted(off.end, time, side="right")
    within = off.start[np.minimum(ended, len(off) - 1)] if len(off) else time
    inside = np.where(ended < len(off), np.maximum(time - within, 0), 0)
    passed: Ints = time - before[ended] - inside
    return passed


def _on_clock(passed: Ints, off: Rows) -> Ints:
    """Return the moment at which the thread had been on a CPU for so long, in ns."""
    lengths = off.end - off.start
    before = np.concatenate(([0], np.cumsum(lengths)))
    left_at = off.start - before[:-1]
    time: Ints = passed + before[np.searchsorted(left_at, passed, side="left")]
    return time


def read_samples(trace: Trace, texts: Texts, first_row: int) -> Samples:
    """Decode the samples of ``trace``; row numbers start at ``first_row``."""
    columns = trace.samples
    time, stack = column(columns.time), column(columns.stack)
    track = column(columns.track)
    cause, label, driver, cut = _judge_stacks(trace, texts)
    order = np.lexsort((stack, track, time))
    order = order[_first_of_each(time[order], track[order])]
    track = track[order]
    chosen = stack[order]
    reach, source = max(int(columns.period_ns), 1) * rules.GAP, texts("samples")
    if not len(chosen):
        none = np.empty(0, dtype=np.int64)
        return Samples(none, none, none, none, none, none, none > 0, none > 0, reach, source)
    return Samples(
        time[order],
        *owners(trace, track),
        cause[chosen],
        label[chosen],
        order + first_row,
        driver[chosen],
        cut[chosen],
        reach,
        source,
    )


def _first_of_each(time: Ints, track: Ints) -> np.ndarray:
    if len(time) < 2:
        return np.ones(len(time), dtype=bool)
    return np.concatenate(([True], (time[1:] != time[:-1]) | (track[1:] != track[:-1])))


def _judge_stacks(trace: Trace, texts: Texts) -> tuple[Ints, Ints, Bools, Bools]:
    """Return cause and label of each distinct stack, and whether it is in the driver, or cut.

    A cut stack has frames, and none of them says what kind of code ran.
    """
    stacks = trace.frames.stacks
    count = len(stacks)
    cause = np.full(count, CODE[Cause.UNATTRIBUTED], dtype=np.int64)
    where = np.full(count, -1, dtype=np.int64)
    sizes = np.fromiter(map(len, stacks), dtype=np.int64, count=count)
    flat = np.fromiter(chain.from_iterable(stacks), dtype=np.int64, count=int(sizes.sum()))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    marks, leaf, python, call, labels = _judge_frames(trace, texts)
    for bit, mark in enumerate(rules.MARKS):
        found = _first(((marks[flat] >> bit) & 1) > 0, offsets)
        fresh = (where < 0) & (found >= 0)
        cause[fresh], where[fresh] = CODE[mark.cause], found[fresh]
    found = _first(leaf[flat] >= 0, offsets)
    fresh = (where < 0) & (found >= 0)
    where[fresh] = found[fresh]
    cause[fresh] = leaf[flat[found[fresh]]]
    driver = fresh & (cause == CODE[Cause.KERNEL_LAUNCH])
    _name_driver_code(trace, driver, (cause, where), _first(call[flat] >= 0, offsets), call[flat])
    if any(rules.is_framework(library) for library in _libraries(trace)):
        interpreted = fresh.copy()
        interpreted[fresh] = python[flat[found[fresh]]] & (cause[fresh] == CODE[Cause.HOST_COMPUTE])
        cause[interpreted] = CODE[Cause.FRAMEWORK_HOST]
    shown = np.where(where >= 0, where, offsets[:-1])
    label = np.full(count, texts("unknown code"), dtype=np.int64)
    some = sizes > 0
    label[some] = labels[flat[shown[some]]]
    return cause, label, driver, some & (where < 0)


def _name_driver_code(
    trace: Trace, driver: np.ndarray, columns: tuple[Ints, Ints], called: Ints, call: Ints
) -> None:
    """Name stacks of the ``driver`` by the exported call that they are in; writes the columns.

    Where every call has a span of its own, the rest ran outside all calls, and nothing names it.
    """
    cause, where = columns
    known = driver & (called >= 0)
    cause[known], where[known] = call[called[known]], called[known]
    if {"cuda.driver", "cuda.runtime"} & set(trace.strings):
        cause[driver & ~known] = CODE[Cause.UNATTRIBUTED]


def _judge_frames(trace: Trace, texts: Texts) -> tuple[Ints, Ints, np.ndarray, Ints, Ints]:
    library, symbol = column(trace.frames.library), column(trace.frames.symbol)
    size = len(trace.strings) + 1
    pairs, which = np.unique((library + 1) * size + symbol + 1, return_inverse=True)
    judged = np.zeros((len(pairs), 5), dtype=np.int64)
    for i, pair in enumerate(pairs.tolist()):
        lib, sym = divmod(pair, size)
        where = trace.strings[lib - 1] if lib else ""
        what = trace.strings[sym - 1] if sym else ""
        seen = rules.classify(where, what)
        leaf = -1 if seen.leaf is None else CODE[seen.leaf]
        call = -1 if seen.call is None else CODE[seen.call]
        judged[i] = seen.marks, leaf, seen.python, call, texts(short_symbol(where, what))
    table = judged[which.reshape(-1)]
    return table[:, 0], table[:, 1], table[:, 2] > 0, table[:, 3], table[:, 4]


def _libraries(trace: Trace) -> set[str]:
    return {trace.strings[i] for i in np.unique(column(trace.frames.library)).tolist() if i >= 0}


def _first(hit: np.ndarray, offsets: Ints) -> Ints:
    """Return the first hit at or after each offset and before the next, -1 for none."""
    places = np.flatnonzero(hit)
    if not len(places):
        return np.full(len(offsets) - 1, -1, dtype=np.int64)
    index = np.minimum(np.searchsorted(places, offsets[:-1]), len(places) - 1)
    found = places[index]
    return np.where((found >= offsets[:-1]) & (found < offsets[1:]), found, -1)
