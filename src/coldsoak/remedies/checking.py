"""``--check CMD``: a command that looks at what each launch left behind."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.launch.request import Executor, Request
    from coldsoak.model.result import Arm, Launch, Options, Series

__all__ = ["CheckingExecutor"]

TIMEOUT_S = 600.0


class CheckingExecutor:
    """Runs a check after each launch that succeeded; ``Launch.data["check"]`` has its answer.

    Args:
        executor: Runs the launches.
        command: For a shell, in the arm's folder. ``COLDSOAK_LOG`` names the launch's output. Its
            exit status and what it prints must be the same with a remedy as without.

    """

    def __init__(self, executor: Executor, command: str) -> None:
        self._executor = executor
        self._command = command
        self.gpus = getattr(executor, "gpus", None)

    @property
    def series(self) -> tuple[Series, ...]:
        """Every series seen so far."""
        return self._executor.series

    def check(self, arms: Sequence[Arm], options: Options) -> None:
        """Raise ``UsageError`` for what the executor refuses."""
        self._executor.check(arms, options)

    def launch(self, request: Request) -> Launch:
        """Run one launch, then the check."""
        launch = self._executor.launch(request)
        if launch.status != "ok":
            return launch
        env = {**os.environ, "COLDSOAK_LOG": str((request.folder / launch.log).resolve())}
        try:
            done = subprocess.run(  # noqa: S602 - the user's own command line
                self._command,
                shell=True,
                cwd=request.arm.cwd or None,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            answer = {"exit": done.returncode, "digest": _digest(done.stdout)}
        except subprocess.TimeoutExpired:
            answer = {"exit": "timeout", "digest": ""}
        return replace(launch, data={**launch.data, "check": answer})


def _digest(data: bytes) -> str:
    return hashlib.blake2s(data, digest_size=8).hexdigest()
