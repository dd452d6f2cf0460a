"""The hooks that the rewritten code calls: clock readings and their differences.

A reading (see ``stamps``) is made around one call of a real clock. Bookkeeping comes before the
clock is read where the value is going to be subtracted (a start) and after it where something is
subtracted from it (an end), so that it lies outside the region. ``flow`` tells the role of most
places; what it could not see is learned at the first subtraction. CLOCK_MONOTONIC is read beside
each reading, on the outer side. An end takes the key of its start; a place whose readings turn out
to stand alone computes keys from then on.

A difference looks both operands up among the recent readings *by value*: the start may have been
kept in a local, an attribute, a container, another thread or another coroutine. Two operands that
are readings of one clock make a region (see ``pairs``). ``t -= clock()`` followed by
``t += clock()`` pairs through the value that was in between.

Limits: a value that was changed before the subtraction (``time.time() * 1000 - t0``) is no
reading any more and is left to the reader's pairing of neighbours; of the last 100,000 values,
two equal ones of one clock are told apart only by thread; each place records 10,000 readings and
is merely counted from then on.
"""

import builtins
import sys
import time
from _thread import _local, get_native_id
from sys import _getframe, intern
from time import monotonic_ns
from types import BuiltinFunctionType

from coldsoak_agent import keys, pairs, stamps
from coldsoak_agent.core import agent
from coldsoak_agent.flow import END
from coldsoak_agent.pairs import add_region, flush, lefts, pair, ready_ns
from coldsoak_agent.rewrite import ARGUMENTS, SEPARATOR
from coldsoak_agent.stamps import PER_SITE, SHIFT, Site, find, join, new, ready

__all__ = ["add_region", "after_fork", "failed", "flush", "install", "ready_ns"]

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
            _CLOCKS[_function] = (intern(_base + _suffix), _unit)
_MONOTONIC = {"monotonic": 1e9, "monotonic_ns": 1}
"""What makes ns of CLOCK_MONOTONIC of the values of a time base that is this clock."""

_readers = {}
_NOTHING = (None, None)
_sites = {}
_numbers = {float, int}
"""Types of the values that clocks gave."""
_local_id = _local()
_plain = 64 if sys.version_info >= (3, 10) else sys.maxsize
"""Readings whose key is found by looking at every frame, before ``callers`` is loaded for it."""


# The hooks


def clock(token, function, depth=1):
    """Return ``function``, or what reads it for us if it is a real clock."""
    try:
        known, reader = _readers[token]
    except KeyError:
        known, reader = _readers[token] = _NOTHING
    if known is function:
        return reader
    if type(function) is not BuiltinFunctionType:
        return function
    if known == function:
        return reader
    try:
        return _resolve(token, function, _getframe(depth))
    except Exception as error:
        failed(error)
        return function


def minus(token, left, right):
    """Make a region if both operands of a minus are readings; return the left one."""
    try:
        kind, other = type(left), type(right)
        if (kind is float or kind in _numbers) and (kind is other or other in _numbers):
            end = new.get(left)
            if end is None:
                end = find(left)
            if end is not None:
                start = new.get(right)
                if start is None:
                    start = find(right)
                if start is not None:
                    pair(end, start, token, 2)
    except Exception as error:
        failed(error)
    return left


def left(token, value):
    """Remember whether the left operand of a minus is a reading; return it."""
    try:
        number = None
        if type(value) in _numbers:
            number = new.get(value)
            if number is None:
                number = find(value)
        lefts[id(_getframe(1)), token] = number
    except Exception as error:
        failed(error)
    return value


def right(token, value):
    """Make a region if both operands of a minus are readings; return the right one."""
    try:
        end = lefts.pop((id(_getframe(1)), token), None)
        if end is not None and type(value) in _numbers:
            start = find(value)
            if start is not None:
                pair(end, start, token, 2)
    except Exception as error:
        failed(error)
    return value


def update(token, sign, current, value):
    """See ``current += value`` or ``current -= value`` before it happens; return ``value``."""
    try:
        if type(current) in _numbers and type(value) in _numbers:
            number = find(value)
            if number is not None:
                pairs.pair_update(token, sign, current, value, number)
    except Exception as error:
        failed(error)
    return value


for _hook in (clock, minus, left, right, update):
    _hook._torchdynamo_disable = True


# Places


def _base_of(function):
    """Return (time base, seconds per unit) of a real clock, else None."""
    found = _CLOCKS.get(function)
    if found is None and function.__name__ in ("now", "utcnow", "today"):
        datetime = getattr(sys.modules.get("datetime"), "datetime", None)
        owner = function.__self__
        if datetime is not None and isinstance(owner, type) and issubclass(owner, datetime):
            return (intern("datetime." + function.__name__), 0.0)
    return found


def _resolve(token, function, frame):
    base = _base_of(function)
    place, qualname, text, _ = token.split(SEPARATOR, 3)
    line, _, role = place.split(":")[:3]
    role = int(role[0])
    if base is None or (role & ARGUMENTS and function in _CLOCKS and "gettime" not in base[0]):
        return function
    site = _sites.get((token, base))
    if site is None:
        if function not in _CLOCKS:
            _numbers.add(function.__self__)
        where = (keys.shown_file(frame.f_code.co_filename), int(line), qualname, text)
        site = _sites[token, base] = Site(*base, _MONOTONIC.get(base[0]), role, where, _renew)
    reader = _reader(site, function)
    _readers[token] = (function, reader)
    return reader


def _reader(site, function):
    if site.full:
        make = _counting
    elif site.role & ARGUMENTS or "thread" in site.base:
        make = _with_arguments
    else:
        make = _end if site.role & 3 == END else _start
    reader = make(site, function)
    reader._torchdynamo_disable = True  # a graph ends at a clock; ours is not to be traced
    return reader


def _renew(site):
    """Make the functions anew that read the clock of a place: what they shall do has changed."""
    for token, (function, _) in list(_readers.items()):
        if _sites.get((token, (site.base, site.unit))) is site:
            _readers[token] = (function, _reader(site, function))


# Readings


def _key_of(frame):
    """Return the key of a reading: the plain way, until there are enough of them to load another."""
    global key_of, _plain
    _plain -= 1
    if _plain > 0:
        return keys.key_of(frame)
    from coldsoak_agent import callers

    key_of = callers.key_of
    return key_of(frame)


key_of = _key_of


def _start(site, function):
    take, keys, threads, ns, values = site.take, site.keys, site.threads, site.ns, site.values
    base, itself = site.id << SHIFT, site.to_ns is not None

    def read():
        try:
            key = key_of(_getframe(1))
            index = take()
            try:
                keys[index] = key
            except IndexError:
                site.grow(index)
                keys[index] = key
            try:
                threads[index] = _local_id.thread
            except AttributeError:
                threads[index] = _thread()
        except StopIteration:
            site.fill()
            return function()
        except Exception as error:
            failed(error)
            return function()
        if not itself:
            ns[index] = monotonic_ns()
        value = values[index] = function()
        number = base + index
        twin = new.setdefault(value, number)
        if twin is not number:
            join(new, value, number, twin)
        return value

    return read


def _end(site, function):
    if agent.mode == "synced":
        return _with_arguments(site, function)
    take, keys, threads, ns, values = site.take, site.keys, site.threads, site.ns, site.values
    base, itself = site.id << SHIFT, site.to_ns is not None

    def read():
        value = function()
        now = None if itself else monotonic_ns()
        try:
            key = key_of(_getframe(1)) if site.lonely else -1
            index = take()
            try:
                keys[index] = key
            except IndexError:
                site.grow(index)
                keys[index] = key
            try:
                threads[index] = _local_id.thread
            except AttributeError:
                threads[index] = _thread()
            ns[index] = now
            values[index] = value
            number = base + index
            twin = new.setdefault(value, number)
            if twin is not number:
                join(new, value, number, twin)
        except StopIteration:
            site.fill()
        except Exception as error:
            failed(error)
        return value

    return read


def _with_arguments(site, function):
    def read(*args, **kwargs):
        if site.role & 3 == END:
            value = function(*args, **kwargs)
            ns = monotonic_ns()
            index = _begin(site, _getframe(1) if site.lonely else None)
        else:
            index = _begin(site, _getframe(1))
            ns = monotonic_ns()
            try:
                value = function(*args, **kwargs)
            except BaseException:
                if index is not None:
                    site.ids[index] = -1
                raise
        if index is not None:
            _keep(site, index, value, ns)
        return value

    return read


def _begin(site, frame):
    """Begin a reading and return its index, None if it is not recorded; this never raises."""
    try:
        key = -1 if frame is None else key_of(frame)
        index = site.take()
        if index >= len(site.keys):
            site.grow(index)
        site.keys[index] = key
        site.threads[index] = getattr(_local_id, "thread", None) or _thread()
    except StopIteration:
        site.fill()
        return None
    except Exception as error:
        failed(error)
        return None
    return index


def _keep(site, index, value, ns):
    try:
        _numbers.add(type(value))
        site.ns[index], site.values[index] = ns, value
        number = (site.id << SHIFT) + index
        twin = find(value)  # clocks of threads give the same values at other times, too
        new[value] = number
        if twin is not None:
            join(new, value, number, twin)
        if agent.mode == "synced" and site.role & END:
            ready[number] = pairs.wait()
    except Exception as error:
        failed(error)


def _thread():
    thread = _local_id.thread = get_native_id()
    return thread


def _counting(site, function):
    def read(*args, **kwargs):
        site.beyond += 1
        return function(*args, **kwargs)

    return read


# Life of the process


def install():
    """Put the hooks where the rewritten code finds them."""
    if getattr(builtins, "__coldsoak_clock__", None) is clock:
        return
    builtins.__coldsoak_clock__ = clock
    builtins.__coldsoak_minus__ = minus
    builtins.__coldsoak_left__ = left
    builtins.__coldsoak_right__ = right
    builtins.__coldsoak_update__ = update
    agent.add_flush(flush)
    agent.at_fork(after_fork)
    agent.at_exit(_count)


def after_fork():
    """Begin anew in a forked child: its spool has none of the parent's records."""
    global _local_id
    stamps.begin()
    _local_id = _local()
    _readers.clear()
    _sites.clear()
    pairs.after_fork()
    keys.reset()
    agent.at_exit(_count)


def _count():
    """Say how often the capped places were read in all."""
    for site in list(_sites.values()):
        if site.beyond:
            total = PER_SITE + site.beyond
            agent.note("readings_total", "%s: %d readings" % (site.text(), total))


_told = []


def failed(error):
    """A hook that fails tells so once and lets the program go on."""
    if len(_told) < 5:
        _told.append(error.__class__)
        agent.note("hook_failed", repr(error))
