"""The append-only file in which one process says what happened.

Nothing here raises into the program: a disk that is full, a folder that is gone or a descriptor
that the program closed end the recording, or move it to a new descriptor, in silence.
"""

import os
from _thread import RLock, get_ident
from time import monotonic_ns

__all__ = ["Spool"]

_HIGH_FD = 200
"""Descriptors from here on are out of the way of programs that count on low numbers."""
_FULL = 80_000
"""Fields kept in memory before they are written even without a flush point."""
_END = object()
_AFTER = (_END,)
_WORTH_BOOKING = 256
"""A flush of so many records is time that the report must know of."""


def _text(value):
    """Return ``value`` as a JSON string."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    out = []
    for char in value:
        code = ord(char)
        if char in '"\\':
            out.append("\\" + char)
        elif code < 0x20 or 0xD800 <= code < 0xE000:
            out.append("\\u%04x" % (code if code < 0x20 else 0xFFFD))
        else:
            out.append(char)
    return f'"{"".join(out)}"'


def encode(value):
    """Return ``value`` as JSON; a number that JSON lacks becomes 0, an unknown object its repr."""
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int:
        return repr(value)
    if kind is float:
        return repr(value) if value - value == 0.0 else "0.0"
    if kind is tuple or kind is list:
        return "[" + ",".join([encode(item) for item in value]) + "]"
    if kind is dict:
        pairs = [_text(str(key)) + ":" + encode(item) for key, item in value.items()]
        return "{" + ",".join(pairs) + "}"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return encode(float(value) if isinstance(value, float) else int(value))
    return _text(value if isinstance(value, str) else repr(value))


_READING = '["reading",%d,%d,%d,%d,%d,%r]'
_REGION = '["region",%d,%d,%d,%d,%d,%d,%r,"clock","",%d,%d]'


def _frequent(record):
    """Return the line of a record of which there are many; None for others, and for odd values."""
    tag = record[0]
    try:
        if tag == "reading" and record[6] - record[6] == 0.0:  # a number that JSON knows
            return _READING % tuple(record[1:])
        if tag == "region" and record[7] - record[7] == 0.0 and record[8:10] == ["clock", ""]:
            return _REGION % (*record[1:8], *record[10:])
    except (TypeError, ValueError, IndexError, OverflowError):
        pass
    return None


def _line(record, encoder):
    """Return one record as a line; ``encoder`` is CPython's own where it can be had."""
    line = _frequent(record)
    if line is not None:
        return line
    if encoder is not None:
        try:
            line = "".join(encoder(record, 0))
        except (TypeError, ValueError, RecursionError):
            pass
        else:
            if "\\ud" not in line:  # half a surrogate pair would be no JSON
                return line
    return encode(record)


def _split(fields):
    """Yield the records of a flat list, each of which ends with ``_END``; one lives at a time."""
    record = []
    for field in fields:
        if field is _END:
            yield record
            record = []
        else:
            record.append(field)


def _call(function):
    return function()


def _fast_encoder():
    try:
        from _json import encode_basestring_ascii, make_encoder
    except ImportError:
        return None
    return make_encoder(None, repr, encode_basestring_ascii, None, ":", ",", False, False, False)


def raise_fd(fd):
    """Move ``fd`` to a number that programs do not use and return the new one."""
    high = _HIGH_FD
    while high < _HIGH_FD + 64 and _is_open(high):
        high += 1
    try:
        os.dup2(fd, high, inheritable=False)
    except OSError:  # more than the process may have
        return fd
    os.close(fd)
    return high


def _is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


class Spool:
    """Records of this process, buffered until a flush point."""

    def __init__(self, folder, on_cost=None, quietly=None):
        """Take the launch's folder.

        ``on_cost`` is called with (start_ns, end_ns) of a flush that took noticeable time;
        ``quietly(function)`` calls a function whose imports are not the program's.
        """
        self.folder = folder
        self._on_cost = on_cost
        self._quietly = quietly or _call
        self._fd = -1
        self._encoder = None
        self.wake = None
        """Called once, at the next flush point."""

    def begin(self, begin_ns):
        """Name a new file after the process and its first instant; the first flush opens it.

        In a forked child this drops what the parent had buffered, which the parent will write.
        """
        self.stem = "%s/%d-%d" % (self.folder, os.getpid(), begin_ns)
        self.path = self.stem + ".jsonl"
        self.dead = False
        if self._fd >= 0 and self._ours():
            os.close(self._fd)
        self._fd = -1
        self._identity = None
        self._buffer = []
        self._lock = RLock()
        self._owner = 0

    def emit(self, *record):
        """Keep a record, the tag first, until the next flush point.

        Its fields go into one flat list: a tuple kept for each would count as an object to collect,
        and move the program's garbage collections to other moments.
        """
        buffer = self._buffer
        buffer.extend(record + _AFTER)
        if len(buffer) > _FULL:
            self.flush()

    def urgent(self, *record):
        """Write a record, and all that came before it, at once."""
        self._buffer.extend(record + _AFTER)
        self.flush()

    def flush(self):
        """Write what is buffered; a flush that a signal starts inside another one does nothing."""
        if self._owner == get_ident() or not self._buffer:
            return
        if self.wake is not None:
            wake, self.wake = self.wake, None
            wake()
        with self._lock:
            self._owner, count = get_ident(), 0
            try:
                start = monotonic_ns()
                buffer = self._buffer
                fields = buffer[:]
                del buffer[: len(fields)]
                count = fields.count(_END)
                if fields and not self.dead:
                    encoder = self._encoder_for(count)
                    lines = [_line(record, encoder) for record in _split(fields)]
                    self._write(("\n".join(lines) + "\n").encode("utf-8", "replace"))
            except Exception:
                self.dead = True
            finally:
                self._owner = 0
        if count >= _WORTH_BOOKING and self._on_cost is not None:
            self._on_cost(start, monotonic_ns())

    def _encoder_for(self, count):
        """Return the fast encoder where its import pays; a few records do without."""
        if self._encoder is None and count > _WORTH_BOOKING:
            self._encoder = self._quietly(_fast_encoder)
        return self._encoder

    def _open(self):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = raise_fd(os.open(self.path, flags, 0o644))
        status = os.fstat(self._fd)
        self._identity = status.st_dev, status.st_ino

    def _ours(self):
        """Tell whether the descriptor is still open on our file; programs close foreign ones."""
        try:
            status = os.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _write(self, data):
        if self._fd < 0 or not self._ours():
            self._open()
        while data:
            data = data[os.write(self._fd, data) :]
