"""What the timed launches spent compiling imported modules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.words import seconds_text

if TYPE_CHECKING:
    from coldsoak.findings.view import View
    from coldsoak.model.result import Launch, Process

__all__ = ["Compiled", "compiled"]

_LEAST_S = 0.02


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """Compiling of imported modules in the main process, median over the timed launches."""

    seconds: float
    named: str
    """The packages with most of it."""
    launches: int
    python: str


def compiled(view: View, arm: str) -> Compiled | None:
    """Return what compiling modules costs in each process; None below 20 ms."""
    mains = [main for launch in view.launches(arm) if (main := _main(launch)) is not None]
    if not mains:
        return None
    seconds = median(_seconds(main) for main in mains)
    if seconds < _LEAST_S:
        return None
    packages: Counter[str] = Counter()
    for cost in mains[-1].imports:
        packages[cost.package] += cost.compile_ns
    shown = (f"{name} {seconds_text(ns / 1e9)}" for name, ns in packages.most_common(3) if ns)
    return Compiled(
        seconds=seconds,
        named=", ".join(shown),
        launches=len(mains),
        python=mains[-1].executable or "python",
    )


def _main(launch: Launch) -> Process | None:
    return min(launch.processes, key=lambda one: one.start_ns, default=None)


def _seconds(process: Process) -> float:
    return sum(cost.compile_ns for cost in process.imports) / 1e9
