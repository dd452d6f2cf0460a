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
        self._pipe = 0

    def _is_ours(self, fd):
        """Tell whether ``fd`` is still the pipe: a program may close it and reuse its number."""
        try:
            return fd >= 0 and os.fstat(fd).st_ino == self._pipe
        except OSError:
            return False

    def begin(self):
        """Start the thread, and take SIGTERM where nobody handles it and this may be done."""
        if not self._is_ours(self.write):
            self.read, self.write = (raise_fd(fd) for fd in os.pipe())
            os.set_blocking(self.write, False)
            self._pipe = os.fstat(self.write).st_ino
        imports.quietly(__import__, "select")
        self.gone = allocate_lock()
        self.gone.acquire()
        start_new_thread(self._loop, (self.read, self.gone))
        if _is_main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            try:
                self._take_term()
            except ValueError:  # a subinterpreter
                pass

    def _take_term(self):
        signal.signal(signal.SIGTERM, _on_term)
        previous = signal.set_wakeup_fd(self.write, warn_on_full_buffer=False)
        if previous != -1:
            signal.set_wakeup_fd(previous)

    def end(self):
        """Stop the thread, wait until the kernel has forgotten it, give SIGTERM back."""
        if self.gone is None:
            return
        self._give_back()
        if self._is_ours(self.write):
            os.write(self.write, _STOP)
        self.gone.acquire(True, 2)
        self.gone = None
        self._wait_for_thread()
        if _is_main_thread():
            self.close()  # else the C handler may still write to it

    def _give_back(self):
        if not _is_main_thread():
            return
        try:
            other = signal.set_wakeup_fd(-1)
            if other not in (-1, self.write):
                signal.set_wakeup_fd(other)
            if signal.getsignal(signal.SIGTERM) is _on_term:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        except ValueError:  # a subinterpreter
            pass

    def _loop(self, read, gone):
        self.tid = get_native_id()
        try:
            poll = _poll_on(read)
            while True:
                ready = poll.poll(_PERIOD_MS)
                if not self._is_ours(read):
                    return
                data = os.read(read, 64) if ready else b""
                if _STOP in data:
                    return
                agent.guard(agent.flush)
                if signal.SIGTERM in data and signal.getsignal(signal.SIGTERM) is _on_term:
                    _die_of_term()
        except OSError:  # the program closed the pipe
            return
        finally:
            gone.release()

    def leave_parents_pipe(self):
        """Let go, in a forked child, of the pipe that the parent's thread reads."""
        self._give_back()
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
        for fd in (self.read, self.write):
            if self._is_ours(fd):
                os.close(fd)
        self.read = self.write = -1


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


def _is_main_thread():
    return get_native_id() == os.getpid()


_flusher = _Flusher()


def install():
    """Start the thread. Around a fork it is away, so that no program is warned of threads."""
    _flusher.begin()
    agent.at_exit(_flusher.end)
    os.register_at_fork(
        before=_flusher.end, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )


def _after_in_parent():
    """Start the thread at the next flush point: CPython counts threads after these callbacks."""
    if _is_main_thread():
        agent.spool.wake = _flusher.begin
    else:
        _flusher.begin()


def _after_in_child():
    agent.guard(_flusher.leave_parents_pipe)
    if not sys.is_finalizing():
        agent.guard(_flusher.begin)
        agent.at_exit(_flusher.end)
