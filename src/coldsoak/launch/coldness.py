"""The cold state of a launch: what is made empty before it starts.

``process`` makes a new process and leaves the user's caches as they are. ``cache`` gives it empty
compile and kernel caches, ``bytecode`` an empty ``__pycache__`` as well, and ``disk`` takes the
files of its environment out of the page cache.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.errors import UsageError
from coldsoak.launch.caches import BYTECODE, redirect
from coldsoak.launch.environment_files import command_files
from coldsoak.launch.pagecache import evict
from coldsoak.model.result import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["LEVELS", "ColdState", "Coldness", "parse_cold"]

_NOT_ON_DISK = ("/dev/", "/proc/", "/sys/", "/memfd:", "/SYSV", "/anon_hugepage")
LEVELS = ("process", "cache", "bytecode", "disk")


def parse_cold(text: str) -> tuple[str, ...]:
    """Read ``--cold``: one level or several with commas; raises ``UsageError`` for another word."""
    asked = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(asked - set(LEVELS))
    if unknown or not asked:
        raise UsageError(
            f"--cold {text}: there is no level named {', '.join(unknown) or '(nothing)'}.",
            do=f"--cold {', '.join(LEVELS)}, or several with commas: --cold cache,bytecode",
        )
    if len(asked) > 1:
        asked.discard("process")
    return tuple(level for level in LEVELS if level in asked)


@dataclass(frozen=True, kw_only=True)
class ColdState:
    """What was prepared for one launch."""

    env: dict[str, str]
    notes: tuple[Note, ...] = ()


class Coldness:
    """Prepares the same cold state for each launch of a session.

    Args:
        levels: As :func:`parse_cold` returns them.

    """

    def __init__(self, levels: tuple[str, ...]) -> None:
        self.levels = levels
        self._files: dict[tuple[str, ...], set[str]] = {}

    @property
    def wants_maps(self) -> bool:
        """Whether the files that a launch maps should be told to :meth:`learn`."""
        return "disk" in self.levels

    def learn(self, argv: tuple[str, ...], files: set[str]) -> None:
        """Add files that a launch of ``argv`` had mapped to those that are evicted."""
        on_disk = {name for name in files if not name.startswith(_NOT_ON_DISK)}
        self._files.setdefault(argv, set()).update(on_disk)

    @contextmanager
    def prepared(
        self, file: str, argv: tuple[str, ...], cwd: str, environment: Mapping[str, str]
    ) -> Iterator[ColdState]:
        """Make the state, and take its folders away afterwards.

        Raises:
            UsageError: The state cannot be made on this machine.

        """
        folder = None
        try:
            env: dict[str, str] = {}
            if {"cache", "bytecode"} & set(self.levels):
                folder = Path(tempfile.mkdtemp(prefix="coldsoak-cold-"))
                env = self._redirected(folder, environment)
            notes = self._evicted(file, argv, cwd, environment) if self.wants_maps else ()
            yield ColdState(env=env, notes=notes)
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _redirected(self, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
        bytecode = "bytecode" in self.levels
        if "cache" in self.levels:
            return redirect(folder, environment, bytecode=bytecode)
        return {BYTECODE.variable: str(folder)}

    def _evicted(
        self, file: str, argv: tuple[str, ...], cwd: str, environment: Mapping[str, str]
    ) -> tuple[Note, ...]:
        if file not in self._files.get(argv, ()):
            self.learn(argv, command_files(file, argv, cwd, environment) | {file})
        return (Note(code="evicted", text=evict(self._files[argv]).text()),)
