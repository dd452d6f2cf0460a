"""How a worker times its runs, and tells coldsoak's agent of them where it is in the process."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldsoak.backends.base import Runnable

__all__ = ["MOST_RUNS", "RUNS", "Observation", "Observer", "enough", "now"]

RUNS = 20
"""Runs after the first that a statement on the steady state needs (change points in short series
are found reliably from here on)."""
MOST_RUNS = 200
FEWEST_RUNS = 3
"""However slow a run is."""


class Observation(NamedTuple):
    """One run, in seconds; ``ready`` is ``seconds`` unless the run was ended without waiting."""

    seconds: float
    ready: float


def now() -> int:
    """Return CLOCK_MONOTONIC in ns.

    From the agent where it is in the process: it takes other readings for the program's regions.
    """
    core = sys.modules.get("coldsoak_agent.core")
    reading: int = time.monotonic_ns() if core is None else core.agent.now()
    return reading


class Observer:
    """Times the runs of one case; in a measured process each becomes a region of kind ``bench``.

    Args:
        case: What tells the case from others of the process; empty when there are none.
        naive: End each run as programs do that forget to wait for the device, and note beside it
            when the device was done, so that both figures belong to the same run.

    """

    def __init__(self, case: Mapping[str, str], *, naive: bool = False) -> None:
        self._naive = naive
        self._readings: Any = None
        if "coldsoak_agent" in sys.modules:
            self._readings = import_module("coldsoak_agent.readings")
            self._readings.install()
            keys = import_module("coldsoak_agent.keys")
            self._key = keys.key_of(None, tuple((name, repr(text)) for name, text in case.items()))

    def observe(self, runnable: Runnable) -> Observation:
        """Execute one run and return its times."""
        start = now()
        runnable.run()
        if not self._naive:
            runnable.wait()
        end = ready = now()
        if self._naive:
            runnable.wait()
            ready = now()
        if self._readings is not None:
            forced = ready if self._naive else self._readings.ready_ns()
            self._readings.add_region(
                "bench", self._key, start, end, (end - start) / 1e9, "run", forced
            )
        return Observation((end - start) / 1e9, (ready - start) / 1e9)


def enough(runs: int, elapsed: float, wanted: int | None, budget: float) -> bool:
    """Return whether ``runs`` after the first suffice, ``elapsed`` seconds of them being spent.

    A wanted number is met exactly. Otherwise runs go on until ``budget`` seconds are spent or
    there are 200; twenty are made as long as they take less than four budgets.
    """
    if wanted is not None:
        return runs >= wanted
    if runs >= MOST_RUNS:
        return True
    if runs >= RUNS:
        return elapsed >= budget
    return runs >= FEWEST_RUNS and elapsed >= 4 * budget
