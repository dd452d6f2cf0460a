"""One process tree from spawn to certain end, with the clock on it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import IO, TYPE_CHECKING, Any

from typing_extensions import Self

from coldsoak.launch.command import explain_spawn_error
from coldsoak.launch.guard import guarded
from coldsoak.launch.logs import Echo, open_log
from coldsoak.launch.redact import redact_command
from coldsoak.launch.tree import Tree, subreaper
from coldsoak.model.result import LaunchStatus, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    from coldsoak.launch.until import Watcher

__all__ = ["Ended", "Start", "interruptible", "run"]

_STRAGGLERS_S = 1.0
"""How long background children may take to end by themselves after the main process has."""
_LOG_CHECK_S = 0.25
_ECHO_S = 0.02
_SAMPLING_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class Start:
    """What to start and how to watch it."""

    file: str
    """The resolved program; a command with a path in it is still executed as it was typed."""
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    spool: Path
    inject: str
    log: Path
    stdin: int | IO[bytes] = subprocess.DEVNULL
    watcher: Watcher | None = None
    condition: str = "exit"
    timeout_s: float = 600.0
    grace_s: float = 5.0
    sample_s: float = 0.1
    maps: bool = False
    echo: bool = False
    log_limit: int = 1 << 30


@dataclass(kw_only=True)
class Ended:
    """How it went. Moments in CLOCK_MONOTONIC ns, durations in ns."""

    t0: int
    started: str
    tree: Tree
    status: LaunchStatus = "ok"
    ended_by: str = "exit"
    exit_code: int | None = None
    signal: int | None = None
    wall_ns: int = 0
    main_ns: int = 0
    """From the spawn until the main process had ended, stopped or by itself."""
    until_ns: int | None = None
    peak_rss: int | None = None
    """Bytes; of the main process or of any process that it waited for, whichever is largest."""
    why: str = ""
    """What is wrong with this launch, in words; empty when nothing is."""
    notes: list[Note] = field(default_factory=list)
    interrupted: bool = False


@contextmanager
def interruptible() -> Iterator[None]:
    """Take SIGTERM and SIGHUP as Ctrl-C, so that they too end the launch and keep the result.

    Does nothing outside the main thread, or where the program has handlers of its own.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        raise KeyboardInterrupt(signal.Signals(number).name)

    ours = []
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, interrupt)
                ours.append(number)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def run(start: Start) -> Ended:
    """Start the command, wait for its end or the end condition, and leave no process behind.

    Raises:
        UsageError: The kernel would not start it.

    """
    with interruptible(), subreaper(), guarded(str(start.spool), start.grace_s) as spawned:
        log = open_log(start.log)
        with _Postponed() as interrupts:
            try:
                process, ended = _spawn(start, log)
            finally:
                os.close(log)
            spawned(process.pid)
            try:
                interrupts.deliver()
                _Watch(start, process, ended).until_end()
            except KeyboardInterrupt:
                _interrupted(ended)
            finally:
                _end(start, process, ended)
        return ended


class _Postponed:
    """Holds interrupts back while a process is spawned: none is lost between fork and watching.

    Blocking the signals would do the same, but the child would inherit the mask.
    """

    def __init__(self) -> None:
        self._handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}
        self._came = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._remember)
        return self

    def __exit__(self, *exc: object) -> None:
        self._restore()

    def deliver(self) -> None:
        """End the delay; raises ``KeyboardInterrupt`` when an interrupt came meanwhile."""
        self._restore()
        if self._came:
            raise KeyboardInterrupt

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._came = True

    def _restore(self) -> None:
        while self._handlers:
            signal.signal(*self._handlers.popitem())


def _spawn(start: Start, log: int) -> tuple[subprocess.Popen[bytes], Ended]:
    env = dict(start.env)
    started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    t0 = time.monotonic_ns()
    env["COLDSOAK_T0"] = str(t0)
    try:
        process = subprocess.Popen(
            start.argv,
            executable=start.argv[0] if os.sep in start.argv[0] else start.file,
            cwd=start.cwd or None,
            env=env,
            stdin=start.stdin,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        raise explain_spawn_error(error, start.argv, start.file) from error
    tree = Tree(process.pid, str(start.spool), t0, start.inject)
    return process, Ended(t0=t0, started=started, tree=tree)


class _Watch:
    """One loop over everything that has to be looked at while the command runs."""

    def __init__(self, start: Start, process: subprocess.Popen[bytes], ended: Ended) -> None:
        self._start = start
        self._process = process
        self._ended = ended
        self._echo = Echo(start.log) if start.echo else None
        self._met: int | None = None
        self._too_long = False
        self._sample_pause = 0.002

    def until_end(self) -> None:
        """Return when the main process has ended, the condition is met, or time is up."""
        deadline = self._ended.t0 / 1e9 + self._start.timeout_s
        due = [(0.0, task) for task in self._tasks()]
        with _ExitWaiter(self._process.pid) as waiter:
            while True:
                now = time.monotonic()
                due = [(at, task) if at > now else (now + task(), task) for at, task in due]
                if self._met is not None or self._too_long:
                    break
                wait = min(deadline, *(at for at, _ in due)) - time.monotonic()
                if self._ended.main_ns:
                    time.sleep(min(max(wait, 0.0), _ECHO_S))
                elif waiter.wait(max(wait, 0.0)):
                    self._ended.main_ns = time.monotonic_ns() - self._ended.t0
                if self._ended.main_ns and not self._went_to_the_background():
                    self._ended.wall_ns = self._ended.main_ns
                    break
                if time.monotonic() >= deadline:
                    break
        self._judge()

    def _went_to_the_background(self) -> bool:
        """Whether a server that is waited for goes on without the process that started it."""
        if self._start.watcher is None or _exit_status(self._process.pid) != 0:
            return False
        return bool(self._ended.tree.running(main=False))

    def _tasks(self) -> list[Callable[[], float]]:
        """Each does one look and returns the seconds until its next."""
        tasks = [self._sample, self._check_log]
        if self._echo is not None:
            tasks.append(self._copy)
        if self._start.watcher is not None:
            tasks.append(self._check)
        return tasks

    def _sample(self) -> float:
        begin = time.monotonic()
        self._ended.tree.sample(maps=self._start.maps)
        cost = time.monotonic() - begin
        self._sample_pause = min(self._sample_pause * 2, self._start.sample_s)
        return max(self._sample_pause, cost / _SAMPLING_SHARE)

    def _check_log(self) -> float:
        with suppress(OSError):
            self._too_long = self._start.log.stat().st_size > self._start.log_limit
        return _LOG_CHECK_S

    def _copy(self) -> float:
        if self._echo is not None:
            self._echo.copy()
        return _ECHO_S

    def _check(self) -> float:
        if self._start.watcher is None:
            return _LOG_CHECK_S
        self._met = self._start.watcher.check()
        return self._start.watcher.interval_s

    def _judge(self) -> None:
        """Say what ended the wait; the exit status is read after the tree was stopped."""
        ended, start = self._ended, self._start
        if self._met is None and start.watcher is not None and ended.wall_ns:
            self._check()
        if self._met is not None:
            ended.ended_by = start.condition.partition(":")[0]
            ended.until_ns = ended.wall_ns = self._met - ended.t0
        elif ended.wall_ns:
            if start.watcher is not None:
                ended.status = "failed"
                ended.why = f"it ended before the condition {start.condition} was met"
        elif self._too_long:
            ended.wall_ns = time.monotonic_ns() - ended.t0
            ended.status = "killed"
            ended.why = f"its output passed {start.log_limit >> 20} MiB"
        else:
            ended.wall_ns = time.monotonic_ns() - ended.t0
            ended.status = ended.ended_by = "timeout"
            ended.why = f"it had not ended after {start.timeout_s:g} s"
            if start.watcher is not None:
                ended.why = f"{start.condition} was not met within {start.timeout_s:g} s"
        self._copy()


class _ExitWaiter:
    """Waits for a child without collecting it, so that its pid stays its own."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor: int | None = None
        self._poll = select.poll()

    def __enter__(self) -> Self:
        with suppress(AttributeError, OSError):
            self._descriptor = os.pidfd_open(self._pid)
            self._poll.register(self._descriptor, select.POLLIN)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def wait(self, seconds: float) -> bool:
        """Return True as soon as the process has ended, False after ``seconds``."""
        if self._descriptor is not None:
            return bool(self._poll.poll(seconds * 1000))
        time.sleep(min(seconds, 0.001))
        return _exit_status(self._pid) is not None


def _exit_status(pid: int) -> int | None:
    """Return exit status, or minus the signal, of a child that has ended; leaves it a zombie."""
    try:
        state = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if state is None:
        return None
    return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def _interrupted(ended: Ended) -> None:
    ended.interrupted = True
    ended.status, ended.why = "interrupted", ""
    ended.wall_ns = ended.wall_ns or time.monotonic_ns() - ended.t0


def _end(start: Start, process: subprocess.Popen[bytes], ended: Ended) -> None:
    """Stop whatever still runs, collect the main process and read its fate."""
    while True:
        try:
            alone = _exit_status(process.pid) is not None
            if alone and not ended.interrupted:
                ended.tree.wait_quiet(_STRAGGLERS_S)
            stopped = ended.tree.stop(0.0 if ended.interrupted and alone else start.grace_s)
            break
        except KeyboardInterrupt:
            _interrupted(ended)
    if alone and stopped and ended.ended_by == "exit":
        ended.notes.append(_background_note([member.argv for member in stopped]))
    ended.peak_rss = _collect(process)
    ended.main_ns = ended.main_ns or time.monotonic_ns() - ended.t0
    ended.tree.sample()
    code = process.returncode
    ended.exit_code, ended.signal = (code, None) if code >= 0 else (None, -code)
    if ended.status == "ok" and ended.ended_by == "exit" and code != 0:
        ended.status = "failed" if code > 0 else "killed"
        ended.why = f"exit status {code}" if code > 0 else f"killed by {_signal_name(-code)}"


def _collect(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for the main process and return its peak resident memory; None when it was collected."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except ChildProcessError:
        process.wait()
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _background_note(commands: list[tuple[str, ...]]) -> Note:
    shown = [" ".join(redact_command(argv))[:60] or "?" for argv in commands[:3]]
    names = ", ".join(shown)
    more = f" and {len(commands) - 3} more" if len(commands) > 3 else ""
    left = "1 process" if len(commands) == 1 else f"{len(commands)} processes"
    fate = "it was ended" if len(commands) == 1 else "they were ended"
    return Note(
        code="background_processes",
        text=f"the command ended and left {left} running; {fate}: {names}{more}",
    )
