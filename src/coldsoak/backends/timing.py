"""How a worker reads the clock: through the agent where it is in the process, else by itself."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from coldsoak.backends.base import Runnable

__all__ = ["MOST_RUNS", "RUNS", "Observation", "enough", "now", "observe"]

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

    Read in the form that coldsoak's agent does not take for a measurement of the program's own.
    """
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def observe(runnable: Runnable, case: dict[str, str], *, naive: bool = False) -> Observation:
    """Execute one run as a region of kind ``bench``.

    The region ends when the device is done. ``naive`` ends it as programs do that forget to wait,
    and waits afterwards, so that both figures belong to the same run.
    """
    region = _region(case)
    start = now()
    with region:
        runnable.run()
        if not naive:
            runnable.wait()
    end = now()
    if not naive:
        return Observation((end - start) / 1e9, (end - start) / 1e9)
    runnable.wait()
    return Observation((end - start) / 1e9, (now() - start) / 1e9)


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


def _region(case: dict[str, str]) -> AbstractContextManager[object]:
    agent = sys.modules.get("coldsoak_agent.region")
    if agent is None:
        return nullcontext()
    region: AbstractContextManager[object] = agent.region("run", kind="bench", case=case)
    return region
