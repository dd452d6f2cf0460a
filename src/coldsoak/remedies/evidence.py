"""What timed launches tell about a change: import costs, and what preheat reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from coldsoak.model.result import Launch
    from coldsoak.remedies.base import Context

__all__ = ["Stage", "compile_seconds", "gc_seconds", "proof_file", "stages"]


class Stage(NamedTuple):
    """A stage of preheat as it reported itself."""

    name: str
    state: str
    begin_ms: float
    end_ms: float
    text: str


def compile_seconds(launch: Launch) -> float:
    """Return the time spent compiling source for want of bytecode, over all processes."""
    return sum(cost.compile_ns for process in launch.processes for cost in process.imports) / 1e9


def gc_seconds(launch: Launch) -> float:
    """Return the time spent collecting garbage during imports, over all processes."""
    return sum(cost.gc_ns for process in launch.processes for cost in process.imports) / 1e9


def proof_file(store: Path, arm: str) -> Path:
    """Return where the launches of an arm report their preheat stages."""
    return store / "proof" / f"{arm.replace(' ', '-')}.tsv"


def stages(context: Context, launch: Launch) -> list[Stage]:
    """Return what preheat reported in ``launch``; nothing when it did not run."""
    try:
        lines = proof_file(context.store, launch.arm).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    pids = {str(process.pid) for process in launch.processes}
    rows = [line.split("\t") for line in lines]
    return [
        Stage(name=row[1], state=row[2], begin_ms=float(row[3]), end_ms=float(row[4]), text=row[5])
        for row in rows
        if len(row) == 6 and row[0] in pids
    ]
