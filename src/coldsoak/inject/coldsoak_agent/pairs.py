"""Regions: two readings of which one was subtracted from the other; and what is written of them.

A region is written once for each start and each place that subtracts from it: a loop that polls
``time.time() - start`` is one region, and the reader pairs its other readings with their
neighbours. The first regions of a place are written at once, later ones now and then; readings go
with them, and at each flush point.
"""

import sys
from _thread import allocate_lock, get_native_id
from sys import _getframe
from time import monotonic_ns

from coldsoak_agent import stamps
from coldsoak_agent.core import agent
from coldsoak_agent.flow import END, START
from coldsoak_agent.stamps import MASK, SHIFT, TWIN, more, places, ready, twins

__all__ = [
    "add_region", "after_fork", "flush", "lefts", "pair", "pair_update", "ready_ns", "wait",
]  # fmt: skip

_HOT = 50
_WRITE_EVERY_NS = 5_000_000
_WORTH_BOOKING_NS = 50_000
_MANY = 10_000

_pending = []
"""Regions to be written: the number of a start; numbers of a further end and its start; or all of
the fields of a region that has no readings."""
_late = []
"""Numbers of readings that were being made while those after them were written."""
lefts = {}
"""Left operands that are readings, by (id of the frame, token), until the right one is known."""
_sums = {}
"""Numbers of starts by what was left when they were subtracted first (``t -= clock()``)."""
_lock = allocate_lock()
_last_write = _next_id = 0


# Pairs


def pair(end, start, token, depth):
    """Make the region between two readings, once for the start and the place ``token``.

    ``depth`` is how many calls up the program's frame is.
    """
    first, last, at, to = places[start >> SHIFT], places[end >> SHIFT], start & MASK, end & MASK
    value = last.values[to]
    if first.ends[at] is None and first.base is last.base and value > first.values[at]:
        first.ends[at], first.by[at] = end, token
        _pending.append(start)
    else:
        end, start = _settle(end, start, token)
        if end is None:
            return
        first, last, at, to = places[start >> SHIFT], places[end >> SHIFT], start & MASK, end & MASK
        value = last.values[to]
    key = first.keys[at]
    if key < 0:
        from coldsoak_agent import readings

        key = first.keys[at] = readings.key_of(_getframe(depth))
        first.learn(START)
    if last.keys[to] < 0:
        last.keys[to] = key
    due, ns = last.due, last.ns[to]
    if due is None or (value if ns is None else ns) >= due:
        _is_due(first, last, end)


def _settle(end, start, token):
    """Return the end and the start of a pair in order, if there is to be a region between them.

    Of two readings with one value, that of the end's thread is the start.
    """
    if end == start:
        start = twins.get(end)
    if start is None or places[start >> SHIFT].base is not places[end >> SHIFT].base:
        return None, None
    if _time_of(start) > _time_of(end):
        start, end = end, start
    twin = twins.get(start)
    if twin is not None and _thread_of(start) != _thread_of(end) == _thread_of(twin):
        start = twin
    first, at = places[start >> SHIFT], start & MASK
    if first.ends[at] is None or first.ends[at] == TWIN:
        first.ends[at], first.by[at] = end, token
        _pending.append(start)
    elif _is_new(first, start, end, token):
        _pending.append((end, start))
    else:
        return None, None
    return end, start


def _time_of(number):
    return places[number >> SHIFT].ns_of(number & MASK)


def _thread_of(number):
    return places[number >> SHIFT].threads[number & MASK]


def _is_new(first, start, end, token):
    """Tell whether a start that has an end is paired with another one at another place."""
    at = start & MASK
    if first.by[at] == token or first.ends[at] == end:
        return False
    others = more.setdefault(start, [])
    if token in others or end in others:
        return False
    others += (token, end)
    return True


def _is_due(first, last, end):
    """Learn from a region, and write it unless it may wait."""
    last.learn(END)
    first.learn(START)
    index = end & MASK
    now = last.ns_of(index)  # the end's own reading of the clock is near enough to now
    if agent.mode == "synced":
        if end not in ready:
            ready[end] = wait()
        if index < _HOT or now - _last_write >= _WRITE_EVERY_NS:
            _write()
        return
    if index < _HOT or now - _last_write >= _WRITE_EVERY_NS:
        _write()
    if index >= _HOT:
        due = _last_write + _WRITE_EVERY_NS
        last.due = due if last.to_ns is None else due / last.to_ns


def pair_update(token, sign, current, value, number):
    """See ``current += value`` or ``current -= value``, where ``value`` is the reading ``number``."""
    if sign > 0:
        if type(current) in (float, int):
            start = _sums.pop(current, None)
            if start is None:
                start = stamps.find(-current)
            if start is not None:
                pair(number, start, token, 3)
        return
    end = stamps.find(current)
    if end is not None:
        pair(end, number, token, 3)
    elif type(current) in (float, int) and type(value) in (float, int):
        if len(_sums) > 1000:
            _sums.clear()
        _sums[current - value] = number


def add_region(kind, key, start_ns, end_ns, seconds, name="", ready_ns=0, loops=1):
    """Write a region that has no readings: ``declared`` or ``timeit``."""
    thread = get_native_id()
    region = (-1, -1, key, thread, start_ns, end_ns, seconds, kind, name, ready_ns, loops)
    _pending.append(region)
    if len(_pending) <= _HOT or end_ns - _last_write >= _WRITE_EVERY_NS:
        _write()


def ready_ns():
    """Return when the devices were done, in a launch that asks for it; else 0."""
    return wait() if agent.mode == "synced" else 0


def wait():
    """Wait until the devices are idle; return the time, or 0 where nothing can be waited for."""
    from coldsoak_agent import sync

    sync.wait_devices()
    return monotonic_ns()


# Writing


def _write():
    global _last_write
    now = monotonic_ns()
    flush()
    agent.spool.flush()
    _last_write = monotonic_ns()
    if _last_write - now > _WORTH_BOOKING_NS:
        agent.cost("regions", now, _last_write)


def flush():
    """Hand what is pending to the spool; a flush inside another one does nothing."""
    if not _lock.acquire(False):
        return
    try:
        regions = _pending[:]
        del _pending[: len(regions)]
        late = _late[:]
        _late.clear()
        for number in late:
            site, index = places[number >> SHIFT], number & MASK
            _emit_readings(site, index, index + 1)
        for site in places:
            taken = min(site.taken(), len(site.keys))
            if taken > site.written:
                begin, site.written = site.written, taken
                _emit_readings(site, begin, taken)
        for region in regions:
            agent.emit("region", *_region(region))
        if not _pending:
            stamps.age()
        if len(lefts) > _MANY:  # minuses whose right side raised
            lefts.clear()
    finally:
        _lock.release()


def _emit_readings(site, begin, end):
    global _next_id
    to_ns, unit = site.to_ns, site.unit
    columns = [column[begin:end] for column in (site.keys, site.threads, site.ns, site.values)]
    for index, (key, thread, ns, value) in enumerate(zip(*columns), begin):  # noqa: B905
        if value is None:
            if site.ids[index] is None:  # another thread is reading it just now
                _late.append((site.id << SHIFT) + index)
            continue
        if key < 0:
            site.lonely = True
        site.ids[index] = _next_id
        agent.emit(
            "reading", _next_id, site.id, key, thread,
            int(value * to_ns) if ns is None else ns, value * unit if unit else _seconds(value),
        )  # fmt: skip
        _next_id += 1


def _region(region):
    """Return the fields of the record of what is pending."""
    if type(region) is tuple and len(region) > 2:
        return region
    if type(region) is tuple:
        end, start = region
        first, at = places[start >> SHIFT], start & MASK
    else:
        first, at = places[region >> SHIFT], region & MASK
        end = first.ends[at]
    last, to = places[end >> SHIFT], end & MASK
    seconds = last.values[to] - first.values[at]
    seconds = seconds * last.unit if last.unit else seconds.total_seconds()
    return (
        first.ids[at], last.ids[to], first.keys[at], last.threads[to], first.ns_of(at),
        last.ns_of(to), seconds, "clock", "", ready.get(end, 0), 1,
    )  # fmt: skip


def _seconds(date):
    if date.tzinfo is not None:
        return date.timestamp()
    return (date - sys.modules["datetime"].datetime(1970, 1, 1)).total_seconds()


def after_fork():
    """Begin anew: the records of this process have none of its parent's."""
    global _lock, _last_write, _next_id
    _lock, _last_write, _next_id = allocate_lock(), 0, 0
    for table in (_pending, _late, lefts, _sums):
        table.clear()
