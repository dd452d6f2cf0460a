"""Which file system a path is on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["IN_MEMORY", "file_system", "mounts"]

IN_MEMORY = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
"""Types of file systems without a disk."""

_ESCAPED = re.compile(r"\\([0-7]{3})")
"""How proc(5) writes spaces, tabs, line ends and backslashes of a path."""
_ROOT = Path("/")


def mounts(root: Path = _ROOT) -> list[tuple[str, str]]:
    """Return places and types of what is mounted, in that order; nothing where /proc is hidden.

    Args:
        root: Where ``proc`` is, for tests.

    """
    try:
        table = (root / "proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    rows = (line.split() for line in table.splitlines())
    return [(_ESCAPED.sub(_character, row[1]), row[2]) for row in rows if len(row) > 2]


def file_system(path: str, mounted: Sequence[tuple[str, str]]) -> str:
    """Return the type of the file system that ``path`` is on; empty when unknown.

    Of several mounts on one place the last is seen.
    """
    full = _slash(os.path.realpath(path))
    best, kind = "", ""
    for place, found in mounted:
        if full.startswith(_slash(place)) and len(_slash(place)) >= len(best):
            best, kind = _slash(place), found
    return kind


def _slash(place: str) -> str:
    return place.rstrip("/") + "/"


def _character(code: re.Match[str]) -> str:
    return chr(int(code[1], 8))
