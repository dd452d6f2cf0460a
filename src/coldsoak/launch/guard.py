"""Nothing that was launched outlives coldsoak, not even when coldsoak is killed with SIGKILL.

A second process, the *keeper*, is started before the first launch of a session and sleeps ever
after. It holds one end of a pipe; when the other end closes while a launch runs, it ends that
launch's process tree. Asking the kernel (``PR_SET_PDEATHSIG``) would reach the main process alone,
would follow the thread that forked and not the process, and would have to be set inside of what is
measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from coldsoak.launch import keeper, proc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["guarded", "guarding"]

_PATIENCE_S = 5.0


class _Guard:
    """The keeper of a session, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the keeper unless it was; where that is impossible, go without."""
        if self._process is not None or not sys.executable:
            return
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={},  # it must not look like a part of what it may have to end
                start_new_session=True,  # what is sent to coldsoak's group must not reach it
            )

    def tell(self, launch: dict[str, object] | None) -> None:
        """Say which launch runs now, or that none does; never waits."""
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(OSError):  # somebody ended it: go without
            descriptor = self._process.stdin.fileno()
            os.set_blocking(descriptor, False)
            os.write(descriptor, json.dumps(launch).encode() + b"\n")

    def close(self) -> None:
        """End the keeper, which has nothing left to do."""
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_guards: list[_Guard] = []
"""Of the sessions that run; the innermost is the last."""


@contextmanager
def guarding() -> Iterator[None]:
    """Guard the launches inside."""
    guard = _Guard()
    _guards.append(guard)
    try:
        yield
    finally:
        _guards.remove(guard)
        guard.close()


@contextmanager
def guarded(spool: str, grace_s: float) -> Iterator[Callable[[int], None]]:
    """Have a launch ended if this process dies inside; does nothing outside of :func:`guarding`.

    Yields what is to be called with the pid of the main process once it was started.

    Args:
        spool: The launch's ``COLDSOAK_SPOOL``.
        grace_s: Seconds between SIGTERM and SIGKILL.

    """
    guard = _guards[-1] if _guards else _Guard()
    if _guards:
        guard.start()

    def tell(main: int) -> None:
        state = proc.stat(main) if main else None
        ticks = state.start_ticks if state else 0
        launch = {"spool": spool, "main": main, "start_ticks": ticks, "grace_s": grace_s}
        guard.tell(launch)

    tell(0)
    try:
        yield tell
    finally:
        guard.tell(None)
