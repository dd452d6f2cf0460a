"""Where a launch's output goes: one file a launch, and the terminal when asked."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

from coldsoak.launch.tail import ByteTail

__all__ = ["Echo", "log_path", "open_log"]


def log_path(index: int) -> str:
    """Return the path of a launch's log, relative to the result's folder."""
    return f"logs/{index:03d}.log"


def open_log(path: Path) -> int:
    """Create the log and return a descriptor for both streams of the launch.

    Both append to one file, so that they keep their order and never overwrite each other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)


class Echo:
    """Copies a growing log to the terminal, byte for byte."""

    def __init__(self, path: Path, stream: BinaryIO | None = None) -> None:
        self._tail = ByteTail(path)
        self._stream = stream

    def copy(self) -> None:
        """Write what is new; a terminal that has gone away is no reason to stop measuring."""
        stream = self._stream if self._stream is not None else sys.stdout.buffer
        try:
            while data := self._tail.read():
                stream.write(data)
            stream.flush()
        except (OSError, ValueError):
            self._tail = ByteTail(Path(os.devnull))
