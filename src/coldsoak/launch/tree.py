"""The process tree of a launch: who belongs to it, what it used, and its certain end.

A process belongs to the launch when it descends from the main process, shares a session with one
that does, or was started with the launch's ``COLDSOAK_SPOOL``. While a launch runs, coldsoak is a
*child subreaper* (prctl(2)), so that orphans come back to it and daemons cannot get away.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.launch import proc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Member", "Tree", "subreaper"]

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_KILL_PATIENCE_S = 5.0


@contextmanager
def subreaper() -> Iterator[None]:
    """Let orphans of the launch become children of this process; the former state comes back."""
    before = ctypes.c_int(0)
    libc = ctypes.CDLL(None)
    if libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0) != 0:
        yield
        return
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


@dataclass(kw_only=True)
class Member:
    """A process of the tree, as it was last seen. Times in ns, CLOCK_MONOTONIC."""

    pid: int
    ppid: int
    start_ns: int
    argv: tuple[str, ...] = ()
    executable: str = ""
    injected: bool = False
    """Its environment still has the agent's folder in PYTHONPATH."""
    cpu_ns: int = 0
    end_ns: int | None = None
    exit_code: int | None = None
    """Exit status, or minus the signal; None when another process collected it."""


class Tree:
    """Watches, ends and collects the processes of one launch.

    Args:
        main: Pid of the process that was spawned, leader of its own session; 0 if it is gone.
        spool: Value of ``COLDSOAK_SPOOL`` of this launch.
        t0: CLOCK_MONOTONIC ns just before the spawn.
        inject: Folder that ``PYTHONPATH`` must hold for the agent to start.

    """

    def __init__(self, main: int, spool: str, t0: int, inject: str = "") -> None:
        self.main = main
        self.members: dict[tuple[int, int], Member] = {}
        self.mapped: set[str] = set()
        """Files mapped by any member, when ``sample`` was asked to look."""
        self._setting = b"COLDSOAK_SPOOL=" + os.fsencode(spool)
        self._inject = os.fsencode(inject)
        self._t0 = t0
        self._own_session = os.getsid(0)
        self._sessions = {main} - {0}
        self._strangers: set[tuple[int, int]] = set()

    def sample(self, *, maps: bool = False) -> list[proc.Stat]:
        """Look at the tree once; return the members that are alive or not yet collected."""
        seen = self._walk()
        now = time.monotonic_ns()
        alive = set()
        for state in seen:
            alive.add(state.identity)
            self._note(state, now)
            if maps and state.state != "Z":
                self.mapped |= proc.mapped_files(state.pid)
        for identity, member in self.members.items():
            if identity not in alive and member.end_ns is None:
                member.end_ns = now
        self._collect(seen)
        return seen

    def running(self, *, main: bool = True) -> list[proc.Stat]:
        """Return the members that still run; without the main process when ``main`` is False."""
        return [s for s in self.sample() if s.state not in "ZX" and (main or s.pid != self.main)]

    def stop(self, grace_s: float = 5.0) -> list[Member]:
        """End every member: SIGTERM, ``grace_s`` seconds, then SIGKILL until none is left.

        Returns the members that were running when it was called. Ctrl-C cuts the grace short and
        is raised again when all have gone.
        """
        running = self._everyone()
        if not running:
            return []
        ended = [self.members[state.identity] for state in running]
        impatient: KeyboardInterrupt | None = None
        try:
            self._signal(running, signal.SIGTERM)
            self._wait_gone(grace_s, lambda: self.running() or self._still(running))
        except KeyboardInterrupt as interrupt:
            impatient = interrupt
        deadline = time.monotonic() + _KILL_PATIENCE_S
        while (running := self._everyone()) and time.monotonic() < deadline:
            self._signal(running, signal.SIGKILL)
            self._wait_gone(0.5)
        if impatient is not None:
            raise impatient
        return ended

    def wait_quiet(self, patience_s: float) -> bool:
        """Give the others a moment to end by themselves after the main process has."""
        return self._wait_gone(patience_s, lambda: self.running(main=False))

    def _walk(self) -> list[proc.Stat]:
        found: dict[int, proc.Stat] = {}
        queue = [self.main, *self._adopted()]
        while queue:
            pid = queue.pop()
            if pid in found or (state := proc.stat(pid)) is None:
                continue
            found[pid] = state
            if state.session not in (0, self._own_session):
                self._sessions.add(state.session)
            if state.state not in "ZX":
                queue += proc.children(pid)
        return list(found.values())

    def _adopted(self) -> list[int]:
        """Children of this process, other than the main one, that belong to the launch."""
        own = []
        for pid in proc.children(os.getpid()):
            state = proc.stat(pid)
            if pid == self.main or state is None or state.identity in self._strangers:
                continue
            if (
                state.identity in self.members
                or state.session in self._sessions
                or proc.environ_has(pid, self._setting)
            ):
                own.append(pid)
            elif state.state != "Z":
                self._strangers.add(state.identity)
        return own

    def _everyone(self) -> list[proc.Stat]:
        """Members that run, and any process in their sessions or with this launch's setting."""
        states = {state.pid: state for state in self.running()}
        for pid in proc.pids():
            if pid in states or pid == os.getpid() or (state := proc.stat(pid)) is None:
                continue
            mine = state.session in self._sessions or proc.environ_has(pid, self._setting)
            if mine and state.state not in "ZX":
                self._note(state, time.monotonic_ns())
                states[pid] = state
        return list(states.values())

    @staticmethod
    def _still(states: list[proc.Stat]) -> list[proc.Stat]:
        """Those that run on, whoever their parent has become."""
        now = [(before, proc.stat(before.pid)) for before in states]
        return [
            state
            for before, state in now
            if state is not None and state.identity == before.identity and state.state not in "ZX"
        ]

    def _note(self, state: proc.Stat, now: int) -> None:
        member = self.members.get(state.identity)
        if member is None:
            start = min(max(proc.started_ns(state.start_ticks), self._t0), now)
            start = self._t0 if state.pid == self.main else start
            member = Member(pid=state.pid, ppid=state.ppid, start_ns=start)
            self.members[state.identity] = member
        member.cpu_ns = state.cpu_ns
        if state.state in "ZX":
            member.end_ns = member.end_ns or now
            return
        if state.ppid != os.getpid():
            member.ppid = state.ppid
        argv = proc.argv(state.pid)
        if argv and argv != member.argv:
            member.argv = argv
            member.executable = proc.executable(state.pid)
            member.injected = self._carries_agent(state.pid)

    def _carries_agent(self, pid: int) -> bool:
        path = proc.environ_value(pid, b"PYTHONPATH")
        return bool(self._inject) and self._inject in path.split(os.pathsep.encode())

    def _collect(self, seen: list[proc.Stat]) -> None:
        """Reap orphans that ended here; the main process is left to the executor."""
        for state in seen:
            if state.state == "Z" and state.pid != self.main and state.ppid == os.getpid():
                with suppress(ChildProcessError):
                    _, status = os.waitpid(state.pid, os.WNOHANG)
                    self.members[state.identity].exit_code = os.waitstatus_to_exitcode(status)

    def _signal(self, states: list[proc.Stat], number: signal.Signals) -> None:
        """Signal each one by itself: a member may have left the group."""
        for state in states:
            current = proc.stat(state.pid)
            if current is not None and current.identity == state.identity:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(state.pid, number)

    def _wait_gone(
        self, patience_s: float, rest: Callable[[], list[proc.Stat]] | None = None
    ) -> bool:
        deadline = time.monotonic() + patience_s
        pause = 0.001
        while (rest or self.running)():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        return True
