"""What the checks look at: an environment, an interpreter, the cards, and ways to ask the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.machine.checks.interpreter import Interpreter
from coldsoak.machine.nvml import Cards

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Subject"]


def _nothing_resident(_file: str) -> tuple[int, int]:
    return 0, 0


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The command's surroundings; everything a test may replace."""

    environment: Mapping[str, str]
    """Of the command."""
    python: Interpreter = field(default_factory=Interpreter)
    """The command's interpreter, as it described itself."""
    cards: Cards = field(default_factory=Cards)
    root: Path = Path("/")
    """Where ``proc`` and ``sys`` are."""
    resident: Callable[[str], tuple[int, int]] = _nothing_resident
    """(bytes in the page cache, size) of a file."""
    perf: Callable[[], bool] = bool
    """Whether the kernel lets a process sample itself."""
    seconds: float = 2.0
    """What one check that walks many files may take."""

    def has(self, *packages: str) -> bool:
        """Whether one of the distributions is installed for the interpreter."""
        return any(package in self.python.versions for package in packages)
