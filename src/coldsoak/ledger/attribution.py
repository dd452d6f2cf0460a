"""From timelines to ledgers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from coldsoak.ledger.arrays import Ints, column, distinct, index_of, owners
from coldsoak.ledger.rules.base import CAUSES, CODE
from coldsoak.ledger.spans import key_of
from coldsoak.ledger.threads import Threads
from coldsoak.ledger.windows import Window, runs_of, span_of, windows_of
from coldsoak.model.causes import Cause
from coldsoak.model.ledger import Evidence, Item, Ledger, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.ledger.sweep import Timeline
    from coldsoak.model.result import Launch, Series
    from coldsoak.model.trace import Trace

__all__ = ["ITEMS", "attribute"]

ITEMS = 8
"""Largest items kept per line."""

_MEASUREMENT, _UNATTRIBUTED = CODE[Cause.MEASUREMENT], CODE[Cause.UNATTRIBUTED]


def attribute(trace: Trace, launch: Launch, *, series: Sequence[Series] = ()) -> tuple[Ledger, ...]:
    """See :func:`coldsoak.ledger.attribute`."""
    threads = Threads(trace, launch, runs_of(launch), *span_of(launch))
    book = _Book(trace, threads)
    return tuple(book.ledger(window, launch) for window in windows_of(trace, launch, series))


@dataclass(frozen=True, slots=True)
class _Cut:
    """The pieces of a timeline inside one window, with their lengths in ns."""

    pieces: Ints
    length: Ints


class _Book:
    def __init__(self, trace: Trace, threads: Threads) -> None:
        self._threads = threads
        self._timelines: dict[tuple[int, int], Timeline] = {}
        self._bytes, self._copy = _bytes_of_rows(trace, threads)
        self._counts = np.ones(threads.rows, dtype=bool)
        self._counts[: len(threads.spans.rows)] = ~threads.spans.is_part
        self._texts = threads.texts.all
        self._reads = _reads(trace)

    def ledger(self, window: Window, launch: Launch) -> Ledger:
        pid, tid, start, end = window.first
        timeline = self._timeline(pid, tid)
        cut = _cut(timeline, start, end)
        sums = _sums(timeline, cut)
        total = end - start
        if int(sums.sum()) != total:
            raise AssertionError(f"the ledger of {window} adds up to {sums.sum()} of {total} ns")
        steady, steady_total = self._steady(window)
        shown = [c for c in range(len(CAUSES)) if sums[c] or steady[c]]
        lines = [
            Line(
                cause=CAUSES[c],
                ns=int(sums[c]),
                steady_ns=float(steady[c]),
                evidence=self._evidence(timeline, cut, c),
            )
            for c in {*shown, _UNATTRIBUTED} - {_MEASUREMENT}
        ]
        lines = [self._with_bytes_read(line, window) for line in lines]
        lines.sort(key=lambda li: (li.cause is Cause.UNATTRIBUTED, -li.cold_ns, li.cause.value))
        return Ledger(
            scope=window.scope,
            arm=launch.arm,
            launch=launch.index,
            series=window.series,
            pid=pid,
            thread=tid,
            start_ns=start,
            end_ns=end,
            total_ns=total,
            measurement_ns=int(sums[_MEASUREMENT]),
            steady_total_ns=steady_total,
            steady_runs=len(window.steady),
            lines=tuple(lines),
        )

    def _timeline(self, pid: int, tid: int) -> Timeline:
        if (pid, tid) not in self._timelines:
            self._timelines[pid, tid] = self._threads.timeline(pid, tid)
        return self._timelines[pid, tid]

    def _steady(self, window: Window) -> tuple[np.ndarray, float]:
        """Return the mean time of each cause per steady run, and the mean total."""
        sums = np.zeros(len(CAUSES))
        if not window.steady:
            return sums, 0.0
        total = 0
        for pid, tid, start, end in window.steady:
            timeline = self._timeline(pid, tid)
            sums += _sums(timeline, _cut(timeline, start, end))
            total += end - start
        return sums / len(window.steady), total / len(window.steady)

    def _with_bytes_read(self, line: Line, window: Window) -> Line:
        """Add what the process read from storage meanwhile, as far as the counter was read."""
        if line.cause is not Cause.PAGE_IN:
            return line
        pid, _, start, end = window.first
        read_pid, time, amount = self._reads
        inside = (read_pid == pid) & (time > start) & (time <= end)
        evidence = replace(line.evidence, bytes=int(amount[inside].sum()))
        return replace(line, evidence=evidence)

    def _evidence(self, timeline: Timeline, cut: _Cut, cause: int) -> Evidence:
        mine = timeline.cause[cut.pieces] == cause
        pieces, length = cut.pieces[mine], cut.length[mine]
        if not len(pieces):
            return Evidence()
        texts = self._texts()
        rows = timeline.row[pieces]
        sampled = int(length[timeline.sampled[pieces]].sum()) * 2 > int(length.sum())
        sources = np.unique(timeline.source[pieces]).tolist()
        return Evidence(
            sources=tuple(sorted(texts[s] for s in sources if texts[s])),
            count=self._count(rows),
            bytes=self._sum_bytes(rows),
            items=self._items(timeline.label[pieces], rows, length, texts),
            sampled=sampled,
        )

    def _items(self, label: Ints, rows: Ints, length: Ints, texts: list[str]) -> tuple[Item, ...]:
        named = label >= 0
        labels, which = np.unique(label[named], return_inverse=True)
        if not len(labels):
            return ()
        sums = np.bincount(which, weights=length[named]).astype(np.int64)
        largest = sorted(range(len(labels)), key=lambda i: (-sums[i], texts[labels[i]]))[:ITEMS]
        items = []
        for i in largest:
            own = rows[named][which == i]
            items.append(
                Item(
                    label=texts[labels[i]],
                    ns=int(sums[i]),
                    count=max(self._count(own), 1),
                    bytes=self._sum_bytes(own),
                )
            )
        return tuple(items)

    def _count(self, rows: Ints) -> int:
        """Return how many distinct records ``rows`` are, steps of others left out."""
        return int(self._counts[distinct(rows[rows >= 0])].sum())

    def _sum_bytes(self, rows: Ints) -> int:
        """Bytes of distinct copies and allocations: a call and its copy count once."""
        rows = distinct(rows[rows >= 0])
        _, first = np.unique(self._copy[rows], return_index=True)
        return int(self._bytes[rows[first]].sum())


def _cut(timeline: Timeline, start: int, end: int) -> _Cut:
    bounds = timeline.bounds
    low = max(int(np.searchsorted(bounds, start, side="right")) - 1, 0)
    high = int(np.searchsorted(bounds, end, side="left"))
    pieces = np.arange(low, min(high, len(bounds) - 1), dtype=np.int64)
    inside = np.minimum(bounds[pieces + 1], end) - np.maximum(bounds[pieces], start)
    return _Cut(pieces, np.maximum(inside, 0))


def _sums(timeline: Timeline, cut: _Cut) -> Ints:
    """Sum the lengths by cause; exact, for float64 holds integers up to 2**53 ns (104 days)."""
    sums = np.bincount(timeline.cause[cut.pieces], weights=cut.length, minlength=len(CAUSES))
    return sums.astype(np.int64)


def _reads(trace: Trace) -> tuple[Ints, Ints, Ints]:
    """Return process, moment and bytes of each reading of the counter of storage reads."""
    events = trace.events
    hit = column(events.kind) == index_of(trace, "read_bytes")
    pid, _ = owners(trace, column(events.track)[hit])
    return pid, column(events.time)[hit], column(events.value)[hit]


def _bytes_of_rows(trace: Trace, threads: Threads) -> tuple[Ints, Ints]:
    """Return bytes by record number, and what tells one transfer from another.

    A copy's call and its device record share a correlation id; both carry the copy's bytes.
    """
    spans, device = threads.spans, threads.device
    amount = np.zeros(threads.rows, dtype=np.int64)
    transfer = -1 - np.arange(threads.rows, dtype=np.int64)
    first, last = len(spans.rows), len(spans.rows) + len(device.rows)
    amount[:first] = spans.bytes
    amount[first:last] = device.bytes
    copies = column(trace.device.bytes_moved) > 0
    keys = key_of(device.pid, device.correlation)[copies]
    sizes = device.bytes[copies]
    linked = device.correlation[copies] > 0
    transfer[first:last][np.flatnonzero(copies)[linked]] = keys[linked]
    own = key_of(spans.pid, spans.correlation)
    order = np.lexsort((sizes, keys))
    if len(order) and first:
        place = np.minimum(np.searchsorted(keys[order], own), len(order) - 1)
        hit = (keys[order][place] == own) & (spans.correlation > 0) & spans.is_api
        transfer[:first][hit] = own[hit]
        amount[:first][hit] = sizes[order][place][hit]
    return amount, transfer
