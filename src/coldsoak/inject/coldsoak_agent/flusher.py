"""Writes the spool every half second in a traced launch, and once more when SIGTERM arrives.

The thread reads a pipe that ``signal.set_wakeup_fd`` fills from the C handler, so that a program
whose main thread sits in a long C call still ends at once. A program that installs a handler or a
wakeup descriptor of its own is left alone.
"""

import _signal as signal
import os
import sys
from _thread import allocate_lock, get_native_id, start_new_thread
from time import monotonic_ns, sleep

from coldsoak_agent import imports
from coldsoak_agent.core import agent
from coldsoak_agent.spool import raise_fd

__all__ = ["install"]

_PERIOD_MS = 500
_STOP = b"\0"


class _Flusher:
    """The thread, its pipe and what it did to SIGTERM."""

    def __init__(self):
        self.read = self.write = -1
        self.tid = 0
        self.gone = None
        self.handles_term = False

    def begin(self):
        """Start the thread; SIGTERM is taken only where nobody handles it."""
        self.read, self.write = (raise_fd(fd) for fd in os.pipe())
        os.set_blocking(self.write, False)
        self.gone = allocate_lock()
        self.gone.acquire()
        imports.quietly(__import__, "select")
        start_new_thread(self._loop, (self.read, self.gone))
        try:
            if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                signal.signal(signal.SIGTERM, _on_term)
                self.handles_term = True
                self._take_wakeup()
        except ValueError:  # not the main thread
            pass

    def _take_wakeup(self):
        previous = signal.set_wakeup_fd(self.write, warn_on_full_buffer=False)
        if previous != -1:
            signal.set_wakeup_fd(previous)

    def _loop(self, read, gone):
        self.tid = get_native_id()
        try:
            poll = _poll_on(read)
            while True:
                data = os.read(read, 64) if poll.poll(_PERIOD_MS) else b""
                if _STOP in data:
                    return
                agent.guard(agent.flush)
                if data and bytes([signal.SIGTERM]) in data and self._owns_term():
                    _die_of_term()
        except OSError:  # the program closed the pipe
            return
        finally:
            gone.release()

    def _owns_term(self):
        return self.handles_term and signal.getsignal(signal.SIGTERM) is _on_term

    def end(self):
        """Stop the thread and wait until the kernel has forgotten it."""
        if self.write < 0:
            return
        try:
            if self.handles_term:
                mine = signal.set_wakeup_fd(-1)
                if mine not in (-1, self.write):
                    signal.set_wakeup_fd(mine)
        except ValueError:
            pass
        try:
            os.write(self.write, _STOP)
            self.gone.acquire(True, 2)
            self._wait_for_thread()
        except OSError:
            pass
        self.close()

    def _wait_for_thread(self):
        give_up = monotonic_ns() + 50_000_000
        while self.tid and monotonic_ns() < give_up:
            try:
                os.stat("/proc/self/task/%d" % self.tid)
            except OSError:
                return
            sleep(0.0001)

    def close(self):
        _close(self.read)
        _close(self.write)
        self.read = self.write = -1


def _close(fd):
    try:
        os.close(fd)
    except OSError:
        pass


def _poll_on(fd):
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return poll


def _on_term(_number, _frame):
    """Write what is there and die as the program would have died."""
    agent.guard(agent.flush)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _die_of_term():
    """Do the same from this thread: only the main one may call ``signal.signal``."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(int(signal.SIGTERM), None)
    os.kill(os.getpid(), signal.SIGTERM)


_flusher = _Flusher()


def install():
    """Start the thread; around a fork it is away, so that no program is warned of threads."""
    _flusher.begin()
    agent.at_exit(_flusher.end)
    os.register_at_fork(
        before=_flusher.end, after_in_parent=_flusher.begin, after_in_child=_restart
    )


def _restart():
    if not sys.is_finalizing():
        _flusher.begin()
        agent.at_exit(_flusher.end)
