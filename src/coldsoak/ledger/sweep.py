"""The sweep: every instant of a thread gets exactly one cause.

:func:`sweep` lays all evidence about one thread side by side, cuts time wherever any of it begins
or ends, and lets each piece take the first answer in the order of the design: the tool itself, the
innermost span, what a wait waits for, the host sample, and else ``unattributed``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coldsoak.ledger.arrays import Bools, Ints, Rows, distinct, merge
from coldsoak.ledger.rules.base import CODE, Kind
from coldsoak.model.causes import Cause

__all__ = ["SETS_UP", "Evidence", "Timeline", "sweep", "waits_of", "working"]

_REFINES_OPEN = [
    CODE[c]
    for c in (
        Cause.PAGE_IN,
        Cause.PYTHON_GC,
        Cause.IMPORT_BYTECODE_COMPILE,
        Cause.LIBRARY_LOAD,
        Cause.COMPILE,
        Cause.PTX_JIT,
        Cause.TRACE,
        Cause.THREAD_START,
        Cause.PAGE_FAULT,
        Cause.PLAN_BUILD,
        Cause.LIBRARY_HANDLE,
        Cause.DRIVER_INIT,
        Cause.CONTEXT_CREATE,
        Cause.MODULE_LOAD,
    )
]
"""Samples that say more than an import span does; interpreter and framework code do not."""
_BUILDS = [CODE[c] for c in (Cause.COMPILE, Cause.TRACE, Cause.CACHE_LOOKUP)]
SETS_UP = [
    *_BUILDS,
    *(
        CODE[c]
        for c in (
            Cause.ALGORITHM_SEARCH,
            Cause.DRIVER_INIT,
            Cause.CONTEXT_CREATE,
            Cause.MODULE_LOAD,
            Cause.LAZY_KERNEL_LOAD,
            Cause.PTX_JIT,
            Cause.LIBRARY_HANDLE,
            Cause.PLAN_BUILD,
            Cause.POOL_RESERVE,
        )
    ),
]
"""What another thread does once: a wait beside it is for it rather than for the device."""
_IDLE = [
    CODE[c]
    for c in (
        Cause.LOCK_WAIT,
        Cause.UNATTRIBUTED,
        Cause.MEASUREMENT,
        Cause.PROCESS_EXIT,
    )
]
"""What another thread cannot be waited for."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything seen about one thread; each layer sorted and disjoint."""

    spans: Rows
    reads_files: Bools
    """Per row of ``spans``: it blocks on nothing but files."""
    off: Rows
    """Off the CPU; cause ``run_queue`` when it was runnable."""
    disk: Bools
    """Per row of ``off``: the disk was read during it."""
    switches_known: bool
    """Context switches of the process were recorded, so that absence means running."""
    waits: Rows
    """Where it slept and why, as far as known."""
    starting: Rows
    """Waits for a thread that it had just started to come up."""
    gaps: Rows
    """Samples taken outside every span."""
    inside: Rows
    """Samples taken inside open spans."""
    inside_span: Ints
    """Per row of ``inside``: number of the span it was taken in."""
    device: Rows
    """What the devices did for the process."""
    device_known: bool
    """Device work of the process was recorded at all."""
    search: Rows
    """Where a compiler of the process tried candidates on the device."""
    children: Rows
    """Child processes that it waited for (kind ``FIXED``) or that worked for it (``OPEN``)."""
    library_start: Rows
    """Gaps between CUDA calls in which a library set itself up."""
    others: Rows = field(default_factory=Rows.none)
    """What other threads of the process did while this one waited."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A partition of a stretch of time on one thread."""

    bounds: Ints
    """n + 1 moments in ns since the spawn; piece i is [bounds[i], bounds[i + 1])."""
    cause: Ints
    """Codes of :data:`coldsoak.ledger.rules.base.CODE`, one a piece."""
    label: Ints
    """Text id of the item that evidence names, -1 for none."""
    source: Ints
    """Text id of the source."""
    row: Ints
    """Number of the record that decided, -1 for none."""
    sampled: Bools
    """A host sample decided."""

    def rows(self) -> Rows:
        """Return the pieces as rows."""
        kind = np.zeros(len(self.cause), dtype=np.int64)
        return Rows(
            self.bounds[:-1], self.bounds[1:], self.cause, kind, self.label, self.source, self.row
        )


class _Canvas:
    """Pieces that take the first answer they are given."""

    def __init__(self, times: Ints, no_source: int) -> None:
        self.times = times
        count = len(times)
        self.cause = np.full(count, CODE[Cause.UNATTRIBUTED], dtype=np.int64)
        self.label = np.full(count, -1, dtype=np.int64)
        self.source = np.full(count, no_source, dtype=np.int64)
        self.row = np.full(count, -1, dtype=np.int64)
        self.sampled = np.zeros(count, dtype=bool)
        self.open = np.ones(count, dtype=bool)

    def put(
        self,
        where: Bools,
        layer: Rows,
        index: Ints,
        cause: Cause | None = None,
        *,
        sampled: bool = False,
    ) -> None:
        """Let undecided pieces at ``where`` that ``layer`` covers take its answer."""
        at = np.flatnonzero(where & self.open & (index >= 0))
        if not len(at):
            return
        chosen = index[at]
        self.cause[at] = layer.cause[chosen] if cause is None else CODE[cause]
        self.label[at] = layer.label[chosen]
        self.source[at] = layer.source[chosen]
        self.row[at] = layer.row[chosen]
        self.sampled[at] = sampled
        self.open[at] = False


def sweep(seen: Evidence, start: int, end: int, *, no_source: int) -> Timeline:
    """Partition ``[start, end)`` of one thread; ``no_source`` is the text id of "no source"."""
    bounds = _bounds(seen, start, end)
    canvas = _Canvas(bounds[:-1], no_source)
    _decide(canvas, seen)
    return Timeline(bounds, canvas.cause, canvas.label, canvas.source, canvas.row, canvas.sampled)


def _bounds(seen: Evidence, start: int, end: int) -> Ints:
    layers = (
        seen.spans,
        seen.off,
        seen.waits,
        seen.gaps,
        seen.inside,
        seen.device,
        seen.search,
        seen.children,
        seen.library_start,
        seen.others,
    )
    cuts = [part for layer in layers for part in (layer.start, layer.end)]
    every = np.concatenate([np.array([start, end], dtype=np.int64), *cuts])
    return distinct(every[(every >= start) & (every <= end)])


def _decide(canvas: _Canvas, seen: Evidence) -> None:
    times = canvas.times
    span, off = seen.spans.at(times), seen.off.at(times)
    kind = np.where(span >= 0, seen.spans.kind[span] if len(seen.spans) else 0, int(Kind.NONE))
    runnable = _is(seen.off.cause, off, [CODE[Cause.RUN_QUEUE]])
    reason = seen.waits.at(times)
    away = (reason >= 0) | (off >= 0) & ~runnable
    free = (kind == Kind.NONE) | (kind == Kind.OPEN)
    gap, inside = seen.gaps.at(times), _same_span(seen, times, span)
    sampled = (gap >= 0) & (kind == Kind.NONE) | (inside >= 0) & (kind == Kind.OPEN)
    unknown = ~away & ~runnable & ~sampled & (not seen.switches_known)
    syncing = kind == Kind.SYNC

    canvas.put(kind == Kind.COST, seen.spans, span)
    _follow_device(canvas, seen, syncing, span)
    canvas.put(runnable & ~away, seen.off, off)
    canvas.put(kind == Kind.FIXED, seen.spans, span)
    _follow_build(canvas, seen, kind == Kind.BUILD, away | unknown, span)
    canvas.put(free & _is(seen.waits.kind, reason, [int(Kind.FIXED)]), seen.waits, reason)
    _read_files(canvas, seen, away & free, off, span)
    child = _is(seen.waits.cause, reason, [CODE[Cause.CHILD_PROCESS]])
    canvas.put(free & child, seen.children, seen.children.at(times))
    _follow_wait(canvas, seen, away & free)
    canvas.put(away, seen.waits, reason)
    canvas.put(away, seen.off, off, Cause.LOCK_WAIT)
    refine = (kind == Kind.OPEN) & _refines(seen, inside, span)
    canvas.put(refine, seen.inside, inside, sampled=True)
    silent = _is(seen.spans.cause, span, [CODE[Cause.UNATTRIBUTED]])
    named_open = (kind == Kind.OPEN) & ~silent
    canvas.put(named_open, seen.spans, span)
    _running(canvas, seen, kind == Kind.NONE, gap, unknown)
    canvas.put(kind != Kind.NONE, seen.spans, span)


def _same_span(seen: Evidence, times: Ints, span: Ints) -> Ints:
    """Samples inside spans speak only for the span that they were taken in."""
    index = seen.inside.at(times)
    if not len(seen.inside) or not len(seen.spans):
        return np.full(len(times), -1, dtype=np.int64)
    same = (index >= 0) & (span >= 0) & (seen.inside_span[index] == seen.spans.row[span])
    return np.where(same, index, -1)


def _refines(seen: Evidence, inside: Ints, span: Ints) -> Bools:
    if not len(seen.inside):
        return np.zeros(len(inside), dtype=bool)
    says = seen.inside.cause[inside]
    told = seen.spans.cause[span]
    more = np.isin(says, _REFINES_OPEN) & (told != CODE[Cause.LIBRARY_LOAD])
    more |= (says == CODE[Cause.PAGE_IN]) & (told == CODE[Cause.LIBRARY_LOAD])
    host = np.isin(told, [CODE[Cause.FRAMEWORK_HOST], CODE[Cause.UNATTRIBUTED]])
    more |= host & (says != CODE[Cause.UNATTRIBUTED])
    refined: Bools = more & (inside >= 0)
    return refined


def _follow_device(canvas: _Canvas, seen: Evidence, where: Bools, span: Ints) -> None:
    """A call that waits for the device costs what the device does meanwhile."""
    if not where.any():
        return
    canvas.put(where, seen.search, seen.search.at(canvas.times))
    canvas.put(where, seen.device, seen.device.at(canvas.times))
    if not seen.device_known:  # nothing tells what ran: the wait itself is the evidence
        launchers = where & (seen.spans.cause[span] == CODE[Cause.KERNEL_LAUNCH])
        canvas.put(launchers, seen.spans, span, Cause.DEVICE_COMPUTE)
    canvas.put(where, seen.spans, span)


def _follow_wait(canvas: _Canvas, seen: Evidence, where: Bools) -> None:
    """A thread that waits pays for what it waits for.

    A search, a child whose exit ended the wait, another thread that compiles or sets something up,
    a new thread that comes up, the device, a child that merely works, whatever else another thread does: in this order.
    """
    if not where.any():
        return
    others, child = seen.others.at(canvas.times), seen.children.at(canvas.times)
    awaited = _is(seen.children.kind, child, [int(Kind.FIXED)])
    canvas.put(where, seen.search, seen.search.at(canvas.times))
    canvas.put(where & awaited, seen.children, child)
    canvas.put(where & _is(seen.others.cause, others, SETS_UP), seen.others, others)
    canvas.put(where, seen.starting, seen.starting.at(canvas.times))
    canvas.put(where, seen.device, seen.device.at(canvas.times))
    canvas.put(where, seen.children, child)
    canvas.put(where, seen.others, others)


def _is(values: Ints, index: Ints, wanted: list[int]) -> Bools:
    """Whether the row at ``index`` (-1: none) has one of the ``wanted`` values."""
    if not len(values):
        return np.zeros(len(index), dtype=bool)
    found: Bools = (index >= 0) & np.isin(values[index], wanted)
    return found


def _follow_build(canvas: _Canvas, seen: Evidence, where: Bools, idle: Bools, span: Ints) -> None:
    """A compile costs its search, its children and its worker threads, and else itself."""
    if not where.any():
        return
    canvas.put(where, seen.search, seen.search.at(canvas.times))
    canvas.put(where & idle, seen.children, seen.children.at(canvas.times))
    canvas.put(where & idle, seen.others, seen.others.at(canvas.times))
    canvas.put(where, seen.spans, span)


def _read_files(canvas: _Canvas, seen: Evidence, where: Bools, off: Ints, span: Ints) -> None:
    """Off the CPU while the disk was read, or inside a span that only reads files."""
    if not len(seen.off):
        return
    disk = (off >= 0) & seen.disk[off]
    files = (span >= 0) & seen.reads_files[span] if len(seen.spans) else np.zeros_like(where)
    canvas.put(where & (disk | files), seen.off, off, Cause.PAGE_IN)


def _running(canvas: _Canvas, seen: Evidence, where: Bools, gap: Ints, unknown: Bools) -> None:
    """Outside every span: the sample's code, else what can be told without samples."""
    times = canvas.times
    start = seen.library_start.at(times)
    if len(seen.gaps):
        driver = (gap >= 0) & (seen.gaps.cause[gap] == CODE[Cause.KERNEL_LAUNCH])
        silent = (gap >= 0) & (seen.gaps.cause[gap] == CODE[Cause.UNATTRIBUTED])
        canvas.put(where & (driver | silent), seen.library_start, start)
        canvas.put(where, seen.gaps, gap, sampled=True)
    blind = where & unknown
    if blind.any():
        others = seen.others.at(times)
        builds = _is(seen.others.cause, others, _BUILDS)
        canvas.put(blind, seen.search, seen.search.at(times))
        canvas.put(blind & builds, seen.others, others)
        canvas.put(blind, seen.children, seen.children.at(times))
    canvas.put(where, seen.library_start, start)


def working(timeline: Timeline) -> Rows:
    """Return the pieces of a thread in which another thread's wait can find its reason."""
    rows = timeline.rows()
    return rows.take(~np.isin(rows.cause, _IDLE))


def waits_of(timeline: Timeline, seen: Evidence) -> tuple[Ints, Ints]:
    """Return where a thread may have been waiting, as sorted disjoint intervals."""
    kinds = seen.spans.kind
    passive = kinds == int(Kind.BUILD)
    away = seen.off.cause != CODE[Cause.RUN_QUEUE]
    start = [seen.spans.start[passive], seen.off.start[away], seen.waits.start]
    end = [seen.spans.end[passive], seen.off.end[away], seen.waits.end]
    if not seen.switches_known:
        blank = timeline.cause == CODE[Cause.UNATTRIBUTED]
        start.append(timeline.bounds[:-1][blank])
        end.append(timeline.bounds[1:][blank])
    return merge(np.concatenate(start), np.concatenate(end))
