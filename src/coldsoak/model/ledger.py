"""The partition of a stretch of time into causes."""

from __future__ import annotations

from typing import Literal

from coldsoak.model.base import Frozen
from coldsoak.model.causes import Cause

__all__ = ["Evidence", "Item", "Ledger", "Line"]


class Item(Frozen, kw_only=True):
    """A single large contributor: a module, a kernel, a library, a file, a child process."""

    label: str
    ns: int
    count: int = 1
    bytes: int = 0


class Evidence(Frozen, kw_only=True):
    """What supports a line: how it was seen, how often, and the largest single items."""

    sources: tuple[str, ...] = ()
    count: int = 0
    bytes: int = 0
    items: tuple[Item, ...] = ()
    """At most eight, largest first."""
    sampled: bool = False
    """The time comes from host samples, not from spans with both ends."""


class Line(Frozen, kw_only=True):
    """One cause: its time in run 0 and, of the same launch, in the steady runs."""

    cause: Cause
    ns: int
    steady_ns: float = 0.0
    """Mean time of this cause per steady run of the same launch."""
    evidence: Evidence = Evidence()

    @property
    def cold_ns(self) -> float:
        """What run 0 pays and steady runs do not; negative when run 0 pays less."""
        return self.ns - self.steady_ns


class Ledger(Frozen, kw_only=True):
    """``sum(line.ns) + measurement_ns == total_ns``, always."""

    scope: Literal["region", "first result", "launch"]
    arm: str
    launch: int
    series: str = ""
    pid: int = 0
    thread: int = 0
    start_ns: int
    end_ns: int
    total_ns: int
    measurement_ns: int = 0
    """The tool's own time, taken out of every cause."""
    steady_total_ns: float = 0.0
    steady_runs: int = 0
    lines: tuple[Line, ...] = ()
    """Largest cold part first; ``unattributed`` last, always present."""
