"""Intervals in columns: the currency of the sweep."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from coldsoak.ledger.rules.base import CODE, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coldsoak.model.causes import Cause
    from coldsoak.model.trace import Trace

__all__ = [
    "Bools",
    "Ints",
    "Rows",
    "Texts",
    "clip",
    "column",
    "covered",
    "distinct",
    "flatten",
    "index_of",
    "merge",
    "over",
    "owners",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Texts:
    """Interns texts; ids count up from 0 in order of first use."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._ids.setdefault(text, len(self._ids))

    def all(self) -> list[str]:
        """Return the texts by id."""
        return list(self._ids)


def column(packed: bytes) -> Ints:
    """Return a packed column as an array."""
    return np.frombuffer(packed, dtype="<i8").astype(np.int64, copy=False)


def index_of(trace: Trace, text: str) -> int:
    """Return the index of a text in a trace's strings; -2, which no column has, without it."""
    return trace.strings.index(text) if text in trace.strings else -2


def owners(trace: Trace, tracks: Ints) -> tuple[Ints, Ints]:
    """Return the process and the thread of each of ``tracks``."""
    if not len(tracks):
        return tracks, tracks
    pids = np.array([track.pid for track in trace.tracks], dtype=np.int64)
    tids = np.array([track.tid for track in trace.tracks], dtype=np.int64)
    return pids[tracks], tids[tracks]


@dataclass(frozen=True, slots=True)
class Rows:
    """Intervals ``[start, end)`` in ns, each with what it says; all columns of one length."""

    start: Ints
    end: Ints
    cause: Ints
    """Codes of :data:`coldsoak.ledger.rules.base.CODE`."""
    kind: Ints
    label: Ints
    """Text id of the item that evidence names."""
    source: Ints
    """Text id of the source."""
    row: Ints
    """Number of the record that said it, unique in a trace."""

    def __len__(self) -> int:
        return len(self.start)

    def take(self, which: npt.NDArray[np.generic]) -> Rows:
        """Return the rows at ``which``, indices or a mask."""
        return Rows(*(getattr(self, field.name)[which] for field in fields(self)))

    def moved(self, start: Ints, end: Ints) -> Rows:
        """Return the same rows with other ends."""
        return Rows(start, end, self.cause, self.kind, self.label, self.source, self.row)

    def at(self, times: Ints) -> Ints:
        """Return for each time the index of the row that covers it, -1 for none.

        The rows must be sorted and disjoint, as :func:`flatten` makes them.
        """
        if not len(self):
            return np.full(len(times), -1, dtype=np.int64)
        index = np.searchsorted(self.start, times, side="right") - 1
        inside = (index >= 0) & (times < self.end[np.maximum(index, 0)])
        return np.where(inside, index, -1)

    @staticmethod
    def none() -> Rows:
        """Return no rows."""
        empty = np.empty(0, dtype=np.int64)
        return Rows(*([empty] * len(fields(Rows))))

    @staticmethod
    def join(parts: Iterable[Rows]) -> Rows:
        """Return all rows of ``parts``."""
        kept = [part for part in parts if len(part)]
        if not kept:
            return Rows.none()
        return Rows(
            *(
                np.concatenate([getattr(part, field.name) for part in kept])
                for field in fields(Rows)
            )
        )

    @staticmethod
    def of(
        records: Sequence[tuple[int, int, int]], cause: Cause, kind: Kind, label: int, source: int
    ) -> Rows:
        """Return rows of one cause from ``(start, end, row)``."""
        table = np.array(records, dtype=np.int64).reshape(-1, 3)
        same = np.ones(len(table), dtype=np.int64)
        return Rows(
            table[:, 0].copy(),
            table[:, 1].copy(),
            same * CODE[cause],
            same * int(kind),
            same * label,
            same * source,
            table[:, 2].copy(),
        )


def flatten(rows: Rows, rank: Ints | None = None) -> Rows:
    """Return disjoint, sorted rows: at each instant the row that started last.

    For nested spans that is the innermost. Of two with the same start the shorter is inner, then
    the one of higher ``rank``. Spans that overlap without nesting (clocks of two sources) are
    handled by the same rule. Linear after sorting.
    """
    real = rows.end > rows.start
    depth = np.zeros(len(rows), dtype=np.int64) if rank is None else rank
    rows, depth = rows.take(real), depth[real]
    if len(rows) < 2:
        return rows
    order = np.lexsort((rows.row, rows.label, rows.cause, depth, -rows.end, rows.start))
    rows = rows.take(order)
    if bool(np.all(rows.start[1:] >= rows.end[:-1])):
        return rows
    starts, ends, owner = _innermost(rows.start.tolist(), rows.end.tolist())
    return rows.take(np.array(owner, dtype=np.int64)).moved(
        np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
    )


def _innermost(start: list[int], end: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Return start, end and index of the innermost interval of each stretch.

    A plain loop over Python integers: a stack has no faster form in NumPy.
    """
    starts: list[int] = []
    ends: list[int] = []
    owner: list[int] = []
    add_start, add_end, add_owner = starts.append, ends.append, owner.append
    stack: list[int] = []
    push, pop = stack.append, stack.pop
    now = start[0]
    for i, begin in enumerate([*start, max(end)]):
        while stack:
            top = stack[-1]
            stop = end[top]
            if stop > begin:
                if begin > now:
                    add_start(now)
                    add_end(begin)
                    add_owner(top)
                break
            pop()
            if stop > now:
                add_start(now)
                add_end(stop)
                add_owner(top)
                now = stop
        now = max(now, begin)
        push(i)
    return starts, ends, owner


def distinct(values: Ints) -> Ints:
    """Return the sorted distinct values; faster than ``np.unique`` on runs that are sorted."""
    ordered = np.sort(values, kind="stable")
    if len(ordered) < 2:
        return ordered
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def over(top: Rows, base: Rows) -> Rows:
    """Return ``top``, and ``base`` where ``top`` has nothing; both sorted and disjoint."""
    if not len(top) or not len(base):
        return top if len(top) else base
    bounds = distinct(np.concatenate((top.start, top.end, base.start, base.end)))
    first, second = top.at(bounds[:-1]), base.at(bounds[:-1])
    chosen = np.where(first >= 0, first, np.where(second >= 0, second + len(top), -1))
    some = chosen >= 0
    rows = Rows.join([top, base]).take(chosen[some])
    return rows.moved(bounds[:-1][some], bounds[1:][some])


def covered(times: Ints, start: Ints, end: Ints) -> Bools:
    """Tell which times lie in one of the sorted, disjoint intervals ``[start, end)``."""
    if not len(start):
        return np.zeros(len(times), dtype=bool)
    at = np.searchsorted(start, times, side="right") - 1
    found: Bools = (at >= 0) & (times < end[np.maximum(at, 0)])
    return found


def clip(rows: Rows, start: Ints, end: Ints) -> Rows:
    """Return what of ``rows`` lies in the intervals; both sorted and disjoint."""
    bounds = distinct(np.concatenate((rows.start, rows.end, start, end)))
    index = rows.at(bounds[:-1])
    kept = (index >= 0) & covered(bounds[:-1], start, end)
    return rows.take(index[kept]).moved(bounds[:-1][kept], bounds[1:][kept])


def merge(start: Ints, end: Ints, gap: int = 0) -> tuple[Ints, Ints]:
    """Return the union of intervals, those at most ``gap`` ns apart joined."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    fresh = np.concatenate(([True], start[1:] > reach[:-1] + gap))
    first = np.flatnonzero(fresh)
    last = np.concatenate((first[1:] - 1, [len(start) - 1]))
    return start[first], reach[last]
