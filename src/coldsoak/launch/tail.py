"""Following files that grow: the launch's output and its spool."""

from __future__ import annotations

import codecs
import os
import re
from typing import TYPE_CHECKING

import msgspec

from coldsoak.model import spool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ByteTail", "LineTail", "SpoolTail", "last_lines"]

_BLOCK = 1 << 20
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
"""What colours a text or moves the cursor."""


class ByteTail:
    """Returns what a file gained since the last look; it may not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> bytes:
        """Return the new bytes, at most one MiB."""
        try:
            if os.stat(self._path).st_size <= self._offset:  # noqa: PTH116 - asked 500 times a second
                return b""
            with self._path.open("rb", buffering=0) as file:
                file.seek(self._offset)
                data = file.read(_BLOCK)
        except OSError:
            return b""
        self._offset += len(data)
        return data


class LineTail:
    """Returns new lines as text; a last line without its end is offered again as it grows."""

    def __init__(self, path: Path) -> None:
        self._tail = ByteTail(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def read(self) -> list[str]:
        """Return the lines that changed since the last look."""
        data = self._tail.read()
        if not data:
            return []
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = self._rest[-_BLOCK:]
        return [*lines, self._rest] if self._rest else lines


class SpoolTail:
    """Follows every spool file of a launch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tails: dict[str, ByteTail] = {}
        self._rests: dict[str, bytes] = {}

    def read(self) -> Iterator[tuple[str, spool.Record]]:
        """Yield (file name, record) for each record that is new and whole; others are skipped."""
        try:
            names = [name for name in os.listdir(self._folder) if name.endswith(".jsonl")]  # noqa: PTH208
        except OSError:
            return
        for name in sorted(names):
            tail = self._tails.setdefault(name, ByteTail(self._folder / name))
            while data := tail.read():
                *lines, self._rests[name] = (self._rests.get(name, b"") + data).split(b"\n")
                yield from ((name, record) for record in map(_record, lines) if record)


def _record(line: bytes) -> spool.Record | None:
    try:
        return spool.DECODER.decode(line)
    except msgspec.DecodeError:
        return None


def last_lines(path: Path, count: int = 20, *, width: int = 400) -> tuple[str, ...]:
    """Return the last ``count`` lines of a file as printable text, each at most ``width`` long."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - count * width))
            data = file.read()
    except OSError:
        return ()
    lines = data.decode("utf-8", "replace").splitlines()[-count:]
    return tuple(_printable(line)[:width] for line in lines)


def _printable(line: str) -> str:
    """Return a line without escape sequences, and one sign for bytes in a row that are no text."""
    sign = "\N{REPLACEMENT CHARACTER}"
    plain = _ESCAPES.sub("", line).expandtabs(4)
    return re.sub(f"{sign}+", sign, "".join(c if c.isprintable() else sign for c in plain))
