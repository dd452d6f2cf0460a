"""The hooks that the rewritten code calls: clock readings and their differences.

A reading is a list (see ``_ID`` and so on) made around one call of a real clock. Bookkeeping comes
before the clock is read where the value is going to be subtracted (a start) and after it where
something is subtracted from it (an end), so that it lies outside the region. ``flow`` tells the
role of most places; what it could not see is learned at the first subtraction. CLOCK_MONOTONIC is
read beside each reading, on the outer side. An end takes the key of its start; a place whose
readings turn out to stand alone computes keys from then on.

A difference looks both operands up among the recent readings *by value*: the start may have been
kept in a local, an attribute, a container, another thread or another coroutine. Two operands that
are readings of one clock make a region. A region is written once for each start and each place
that subtracts from it: a loop that polls ``time.time() - start`` is one region, and the reader
pairs its other readings with their neighbours. ``t -= clock()`` followed by ``t += clock()``
pairs through the value that was in between.

Limits: a value that was changed before the subtraction (``time.time() * 1000 - t0``) is no
reading any more and is left to the reader's pairing of neighbours; of the last 100,000 values,
two equal ones of one clock are told apart only by thread; each place records 10,000 readings and
is merely counted from then on.
"""

import builtins
import sys
import time
from _thread import _local, allocate_lock, get_native_id
from itertools import count
from sys import _getframe
from time import monotonic_ns
from types import BuiltinFunctionType

from coldsoak_agent.core import agent
from coldsoak_agent.flow import END, START
from coldsoak_agent.keys import key_of, reset, shown_file
from coldsoak_agent.rewrite import ARGUMENTS, SEPARATOR

__all__ = ["add_region", "after_fork", "failed", "flush", "install", "ready_ns"]

_PER_SITE = 10_000
_KEPT = 50_000
_HOT = 50
_WRITE_EVERY_NS = 5_000_000
_WORTH_BOOKING_NS = 50_000

_ID, _SITE, _KEY, _THREAD, _NS, _VALUE, _READY, _TWIN, _ENDS = range(9)
"""Fields of a reading: an older reading with the same value; the ends that were paired with it."""

_CLOCKS = {}
"""Clock function -> (name of its time base, seconds per unit)."""
for _name, _base in (
    ("time", "time"),
    ("perf_counter", "monotonic"),  # one clock on Linux
    ("monotonic", "monotonic"),
    ("process_time", "process"),
    ("thread_time", "thread"),
    ("clock_gettime", "gettime"),
):
    for _suffix, _unit in (("", 1.0), ("_ns", 1e-9)):
        _function = getattr(time, _name + _suffix, None)
        if _function is not None:
            _CLOCKS[_function] = (_base + _suffix, _unit)

_readers = {}
_sites = {}
_new, _old = {}, {}
"""Readings by value: the recent ones, and those before them."""
_numbers = {float, int}
_lefts = {}
"""Left operands that are readings, by (id of the frame, token), until the right one is known."""
_sums = {}
_pending = []
_local_id = _local()
_lock = allocate_lock()
_next_id = count().__next__
_last_write = 0


class _Site:
    """A place that reads a clock."""

    __slots__ = ("base", "id", "left", "lonely", "role", "unit", "where")

    def __init__(self, number, token, function, frame):
        place, qualname, text, _ = token.split(SEPARATOR, 3)
        line, _, role = place.split(":")[:3]
        self.id = number
        self.base, self.unit = _base_of(function)
        self.role = int(role[0])
        self.left = _PER_SITE
        self.lonely = False  # an end whose readings also stand alone, so that they need keys
        self.where = (shown_file(frame.f_code.co_filename), int(line), qualname, text)
        agent.emit("site", number, *self.where)


# The hooks


def clock(token, function, depth=1):
    """Return ``function``, or what reads it for us if it is a real clock."""
    known = _readers.get(token)
    if known is not None and known[0] is function:
        return known[1]
    if type(function) is not BuiltinFunctionType:
        return function
    if known is not None and known[0] == function:
        return known[1]
    try:
        return _resolve(token, function, _getframe(depth))
    except Exception as error:
        failed(error)
        return function


def left(token, value):
    """Remember whether the left operand of a minus is a reading; return it."""
    try:
        record = None
        if type(value) in _numbers:
            record = _new.get(value) or _old.get(value)
        _lefts[id(_getframe(1)), token] = record
    except Exception as error:
        failed(error)
    return value


def right(token, value):
    """Make a region if both operands of a minus are readings; return the right one."""
    try:
        end = _lefts.pop((id(_getframe(1)), token), None)
        if end is not None and type(value) in _numbers:
            start = _new.get(value) or _old.get(value)
            if start is not None:
                _pair(end, start, token, _getframe(1))
    except Exception as error:
        failed(error)
    return value


def update(token, sign, current, value):
    """See ``current += value`` or ``current -= value`` before it happens; return ``value``."""
    try:
        if type(current) in _numbers and type(value) in _numbers:
            record = _new.get(value) or _old.get(value)
            if record is not None:
                _pair_update(token, sign, current, value, record)
    except Exception as error:
        failed(error)
    return value


def _pair_update(token, sign, current, value, record):
    if sign > 0 and type(current) in (float, int):
        start = _sums.pop(current, None) or _new.get(-current) or _old.get(-current)
        if start is not None:
            _pair(record, start, token, _getframe(2))
    if sign > 0:
        return
    end = _new.get(current) or _old.get(current)
    if end is not None:
        _pair(end, record, token, _getframe(2))
        return
    if type(current) in (float, int) and type(value) in (float, int):
        if len(_sums) > 1000:
            _sums.clear()
        _sums[current - value] = record


for _hook in (clock, left, right, update):
    _hook._torchdynamo_disable = True


# Readings


def _base_of(function):
    """Return (time base, seconds per unit) of a real clock, else None."""
    found = _CLOCKS.get(function)
    if found is None and function.__name__ in ("now", "utcnow", "today"):
        datetime = getattr(sys.modules.get("datetime"), "datetime", None)
        owner = function.__self__
        if datetime is not None and isinstance(owner, type) and issubclass(owner, datetime):
            return ("datetime." + function.__name__, 0.0)
    return found


def _resolve(token, function, frame):
    base = _base_of(function)
    role = int(token[token.index(":", token.index(":") + 1) + 1])
    if base is None or (role & ARGUMENTS and function in _CLOCKS and "gettime" not in base[0]):
        return function
    site = _sites.get((token, base))
    if site is None:
        site = _sites[token, base] = _Site(len(_sites), token, function, frame)
    reader = _reader(site, function)
    _readers[token] = (function, reader)
    return reader


def _reader(site, function):
    if site.left <= 0:
        make = _counting
    elif function in _CLOCKS and not site.role & ARGUMENTS:
        make = _end if site.role & 3 == END else _start
    else:
        make = _with_arguments
    reader = make(site, function)
    reader._torchdynamo_disable = True  # a graph ends at a clock; ours is not to be traced
    return reader


def _start(site, function):
    def read():
        record = _record(site, _getframe(1))
        record[_NS] = monotonic_ns()
        value = record[_VALUE] = function()
        if value in _new:
            _join(record, _new[value])
        _new[value] = record
        return value

    return read


def _end(site, function):
    if agent.mode == "synced":
        return _with_arguments(site, function)

    def read():
        value = function()
        ns = monotonic_ns()
        if site.lonely or site.left <= 1:
            _keep(_record(site, _getframe(1) if site.lonely else None), value, ns)
            return value
        site.left -= 1
        try:
            thread = _local_id.thread
        except AttributeError:
            thread = _local_id.thread = get_native_id()
        record = [_next_id(), site, -1, thread, ns, value, 0, None, None]
        _pending.append(record)
        if value in _new:
            _join(record, _new[value])
        _new[value] = record
        return value

    return read


def _with_arguments(site, function):
    def read(*args, **kwargs):
        if site.role & 3 == END:
            value = function(*args, **kwargs)
            ns = monotonic_ns()
            record = _record(site, _getframe(1) if site.lonely else None)
        else:
            record = _record(site, _getframe(1))
            ns = monotonic_ns()
            value = function(*args, **kwargs)
        _numbers.add(type(value))
        _keep(record, value, ns)
        return value

    return read


def _counting(site, function):
    def read(*args, **kwargs):
        site.left -= 1
        return function(*args, **kwargs)

    return read


def _record(site, frame):
    """Begin a reading; this never raises."""
    try:
        site.left -= 1
        if site.left <= 0:
            _fill(site)
        try:
            thread = _local_id.thread
        except AttributeError:
            thread = _local_id.thread = get_native_id()
        key = -1 if frame is None else key_of(frame)
        record = [_next_id(), site, key, thread, 0, None, 0, None, None]
        _pending.append(record)
    except Exception as error:
        failed(error)
        return [-1, site, -1, 0, 0, None, 0, None, None]
    return record


def _keep(record, value, ns):
    record[_NS] = ns
    record[_VALUE] = value
    try:
        twin = _new.get(value)
        if twin is not None:
            _join(record, twin)
        _new[value] = record
        if agent.mode == "synced" and record[_SITE].role & END:
            record[_READY] = _wait()
        if len(_new) > _KEPT:
            _age()
    except Exception as error:
        failed(error)


def _join(record, twin):
    """Two readings gave one value: keep both, and no longer chain."""
    twin[_TWIN] = None
    record[_TWIN] = twin


def _age():
    _old.clear()
    _old.update(_new)
    _new.clear()


def _fill(site):
    """Stop recording a place: from its next use on it is only counted."""
    for token, (function, _) in list(_readers.items()):
        if _sites.get((token, (site.base, site.unit))) is site:
            _readers[token] = (function, _reader(site, function))
    file, line, _, text = site.where
    where = "%s at %s:%d" % (text, file, line)
    agent.note("readings_capped", "%s: %d readings kept, later ones counted" % (where, _PER_SITE))


def _wait():
    """Wait until the devices are idle; return the time, or 0 where nothing can be waited for."""
    from coldsoak_agent import sync

    sync.wait_devices()
    return monotonic_ns()


# Regions


def _pair(end, start, token, frame):
    """Make the region from ``start`` to ``end``, once."""
    if end is start:
        start = end[_TWIN]
        if start is None:
            return
    if end[_SITE].base != start[_SITE].base:
        return
    if start[_ID] > end[_ID]:
        start, end = end, start
    twin = start[_TWIN]
    if twin is not None and start[_THREAD] != end[_THREAD] == twin[_THREAD]:
        start = twin
    ends = start[_ENDS]
    if ends is None:
        start[_ENDS] = [token, end[_ID]]
    elif token in ends or end[_ID] in ends:
        return
    else:
        ends += (token, end[_ID])
    if start[_KEY] < 0:
        start[_KEY] = key_of(frame)
    if end[_KEY] < 0:
        end[_KEY] = start[_KEY]
    site = end[_SITE]
    if not site.role & END:
        _learn(site, END)
    if not start[_SITE].role & START:
        _learn(start[_SITE], START)
    if agent.mode == "synced" and not end[_READY]:
        end[_READY] = _wait()
    _pending.append((end, start))
    # the end's own reading of the clock is near enough to now
    if site.left > _PER_SITE - _HOT or end[_NS] - _last_write >= _WRITE_EVERY_NS:
        _write()


def _learn(site, role):
    site.role |= role
    for token, (function, _) in list(_readers.items()):
        if _sites.get((token, (site.base, site.unit))) is site:
            _readers[token] = (function, _reader(site, function))


def add_region(kind, key, start_ns, end_ns, seconds, name="", ready_ns=0, loops=1):
    """Write a region that has no readings: ``declared`` or ``timeit``."""
    _pending.append((kind, key, get_native_id(), start_ns, end_ns, seconds, name, ready_ns, loops))
    if len(_pending) <= _HOT or end_ns - _last_write >= _WRITE_EVERY_NS:
        _write()


def ready_ns():
    """Return when the devices were done, in a launch that asks for it; else 0."""
    return _wait() if agent.mode == "synced" else 0


def _write():
    """Hand over what is pending: the first regions of a place at once, later ones now and then."""
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
        batch = _pending[:]
        del _pending[: len(batch)]
        for item in batch:
            if type(item) is tuple:
                _emit_region(item)
            elif item[_VALUE] is None:
                _pending.append(item)  # another thread is reading it just now
            else:
                if item[_KEY] < 0:
                    item[_SITE].lonely = True
                agent.emit(
                    "reading", item[_ID], item[_SITE].id, item[_KEY], item[_THREAD], item[_NS],
                    _seconds(item),
                )  # fmt: skip
        if len(_new) > _KEPT:
            _age()
        if len(_lefts) > _PER_SITE:  # minuses whose right side raised
            _lefts.clear()
    finally:
        _lock.release()


def _emit_region(item):
    if type(item[0]) is str:
        kind, key, thread, start_ns, end_ns, seconds, name, ready, loops = item
        agent.emit(
            "region", -1, -1, key, thread, start_ns, end_ns, seconds, kind, name, ready, loops
        )
        return
    end, start = item
    agent.emit(
        "region", start[_ID], end[_ID], start[_KEY], end[_THREAD], start[_NS], end[_NS],
        _difference(end, start), "clock", "", end[_READY], 1,
    )  # fmt: skip


def _seconds(record):
    value, unit = record[_VALUE], record[_SITE].unit
    if unit:
        return value * unit
    if value.tzinfo is not None:
        return value.timestamp()
    return (value - sys.modules["datetime"].datetime(1970, 1, 1)).total_seconds()


def _difference(end, start):
    unit = end[_SITE].unit
    if unit:
        return (end[_VALUE] - start[_VALUE]) * unit
    return (end[_VALUE] - start[_VALUE]).total_seconds()


# Life of the process


def install():
    """Put the hooks where the rewritten code finds them."""
    if getattr(builtins, "__coldsoak_clock__", None) is clock:
        return
    builtins.__coldsoak_clock__ = clock
    builtins.__coldsoak_left__ = left
    builtins.__coldsoak_right__ = right
    builtins.__coldsoak_update__ = update
    agent.add_flush(flush)
    agent.at_fork(after_fork)
    agent.at_exit(_count)


def after_fork():
    """Begin anew in a forked child: its spool has none of the parent's records."""
    global _local_id, _lock, _next_id, _last_write
    _local_id, _lock, _next_id, _last_write = _local(), allocate_lock(), count().__next__, 0
    for table in (_readers, _sites, _new, _old, _lefts, _sums, _pending):
        table.clear()
    reset()
    agent.at_exit(_count)


def _count():
    """Say how often the capped places were read in all."""
    for site in list(_sites.values()):
        if site.left < 0:
            file, line, _, text = site.where
            total = _PER_SITE - site.left
            agent.note("readings_total", "%s at %s:%d: %d readings" % (text, file, line, total))


_told = []


def failed(error):
    """A hook that fails tells so once and lets the program go on."""
    if len(_told) < 5:
        _told.append(error.__class__)
        agent.note("hook_failed", repr(error))
