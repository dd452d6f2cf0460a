"""The stage of preheat that reads the recorded parts of files into memory before they are needed.

The record is a text, ``PATH TAB OFFSET TAB LENGTH`` a line, in bytes and in the order of need. The
first range of a file may have two more columns, its size and its time of change in ns: the ranges of
a file that has changed since are left out. Nothing is read when all is in memory already.
"""

import os

import _thread

from coldsoak_agent.preheat import Unfit

READERS = 4


def start(running, path):
    """Begin to read the ranges of the file ``path`` ahead, on threads."""
    ranges = read_ranges(path)
    if not ranges:
        raise Unfit("no recorded ranges")
    running.spawn("readahead", lambda: _first_reader(running, ranges))


def _first_reader(running, ranges):
    """Look whether the pages are in memory already, else share the work out."""
    if _in_memory(ranges):
        return "all in memory already"
    others = [_ReaderThread(ranges[number::READERS]) for number in range(1, READERS)]
    asked, stale = _read_ahead(ranges[::READERS])
    for other in others:
        more, changed = other.result()
        asked, stale = asked + more, stale | changed
    text = "%d bytes asked for" % asked
    return text + ", %d files changed since they were recorded" % len(stale) if stale else text


class _ReaderThread(object):
    def __init__(self, part):
        self.done = _thread.allocate_lock()
        self.done.acquire()
        self.found = 0, set()
        _thread.start_new_thread(self.run, (part,))

    def run(self, part):
        try:
            self.found = _read_ahead(part)
        finally:
            self.done.release()

    def result(self):
        with self.done:
            return self.found


def read_ranges(path):
    """Return ``(path, offset, length, size, mtime_ns)``; the last two are None where not recorded."""
    ranges = []
    marks = {}
    with open(path) as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5:
                marks[fields[0]] = int(fields[3]), int(fields[4])
            size, changed = marks.get(fields[0], (None, None))
            ranges.append((fields[0], int(fields[1]), int(fields[2]), size, changed))
    return ranges


def _in_memory(ranges, samples=24):
    """Tell by reading a byte here and there, without waiting for the disk, whether all is there."""
    flag = getattr(os, "RWF_NOWAIT", None)
    if flag is None:
        return False
    byte = [bytearray(1)]
    for path, offset, length, _, _ in ranges[:: max(1, len(ranges) // samples)]:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            os.preadv(fd, byte, offset + length // 2, flag)
        except OSError:
            return False
        finally:
            os.close(fd)
    return True


def _read_ahead(part):
    """Ask the kernel for the ranges of files that are as recorded; return (bytes, changed files)."""
    asked, stale, opened = 0, set(), {}
    for path, offset, length, size, changed in part:
        if path not in opened:
            opened[path] = _open_unchanged(path, size, changed)
        if opened[path] is None:
            stale.add(path)
        else:
            os.posix_fadvise(opened[path], offset, length, os.POSIX_FADV_WILLNEED)
            asked += length
    for fd in opened.values():
        if fd is not None:
            os.close(fd)
    return asked, stale


def _open_unchanged(path, size, changed):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    state = os.fstat(fd)
    if size is not None and (state.st_size, state.st_mtime_ns) != (size, changed):
        os.close(fd)
        return None
    return fd
