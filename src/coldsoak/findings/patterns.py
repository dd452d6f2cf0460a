"""Shapes of series that several rules look for, and how many launches must agree on one."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coldsoak.findings.view import View
    from coldsoak.model.result import Series

__all__ = [
    "AGREEMENT",
    "SMALLEST_S",
    "busy_machine",
    "device_of",
    "devices_of",
    "high",
    "later_median",
    "least_difference",
    "mostly",
    "period_of",
    "walls",
]

AGREEMENT = 0.8
"""Share of launches that must show the same, as for the steady state (``stats.steady``)."""
SMALLEST_S = 1e-3
"""Seconds below which a difference between runs is left alone: the scheduler makes such by itself."""
BUSY = 0.15
"""Share of the machine that others took, above which odd series may be their doing."""
BUSY_LEAST_S = 0.15
"""Seconds by which runs must differ then: threads that wait for a core were seen to take 0.08."""
PERIODS = range(2, 9)
FULL_PERIODS = 4
"""Repetitions that a period needs in a launch before it is one."""
SLOW = 2.0
"""Times the other runs that a run must take to stand out of a periodic series."""


def mostly(flags: Iterable[bool]) -> bool:
    """Tell whether at least two launches were asked and 80 % of them agree."""
    known = list(flags)
    return len(known) >= 2 and sum(known) >= AGREEMENT * len(known)


def walls(view: View, arm: str, series: str) -> list[list[float]]:
    """Return wall seconds by run, a row for each timed launch."""
    return [[run.wall for run in row] for row in view.runs(arm, series)]


def later_median(row: Sequence[float], start: int = 1) -> float:
    """Return the median of a row from run ``start`` on; 0 when there is none."""
    return median(row[start:]) if len(row) > start else 0.0


def busy_machine(view: View, arm: str) -> bool:
    """Tell whether other work disturbed the timed launches of an arm."""
    shares = [
        launch.conditions.foreign_cpu
        for launch in view.launches(arm)
        if launch.conditions.foreign_cpu is not None
    ]
    return bool(shares) and median(shares) > BUSY


def least_difference(view: View, arm: str) -> float:
    """Return the seconds by which runs must differ before the scheduler is no explanation."""
    return BUSY_LEAST_S if busy_machine(view, arm) else SMALLEST_S


def high(row: Sequence[float]) -> float:
    """Return what nine of ten values stay below; the largest of fewer than ten."""
    return sorted(row)[-1 - len(row) // 10] if row else 0.0


def period_of(row: Sequence[float], least: float = SMALLEST_S) -> int | None:
    """Return N when every Nth run of a row stands out by more than twice, and no other run does.

    Run 0 is left out: it is slow for reasons of its own.
    """
    runs = list(row[1:])
    for period in PERIODS:
        if len(runs) < FULL_PERIODS * period:
            return None
        for phase in range(period):
            slow = runs[phase::period]
            others = [value for i, value in enumerate(runs) if i % period != phase]
            limit = max(SLOW * median(others), median(others) + least)
            stand_out = sum(value > limit for value in slow)
            strays = sum(value > limit for value in others)
            if stand_out >= 0.9 * len(slow) and strays <= 0.1 * len(others):
                return period
    return None


_DEVICE = re.compile(r"(?:/device:|/)?(?:XLA_)?(GPU|CPU|cuda|CUDA|gpu|cpu)(?::(\d+))?$")
_OBJECT = re.compile(
    r"(Cuda|Gpu|Cpu|Tfrt\w*Cpu)Device\(id=(\d+)\)|device\(type='(\w+)'(?:, index=(\d+))?\)"
)


def device_of(text: str) -> tuple[str, int] | None:
    """Return ``("gpu", 0)`` for any spelling of a device; None for what is no device."""
    bare = text.strip("'\"")
    match = _DEVICE.fullmatch(bare)
    if match:
        kind = "cpu" if match[1].lower() == "cpu" else "gpu"
        return kind, int(match[2] or 0)
    match = _OBJECT.fullmatch(bare)
    if match:
        word = (match[1] or match[3]).lower()
        return ("cpu" if "cpu" in word else "gpu"), int(match[2] or match[4] or 0)
    return None


def devices_of(series: Series) -> list[tuple[str, tuple[str, int]]]:
    """Return the devices that the case of a series names, each with its text."""
    found = ((value.strip("'\""), device_of(value)) for value in series.case.values())
    return [(text, device) for text, device in found if device is not None]
