"""What is to become faster: one figure for each launch, and the causes inside it."""

from __future__ import annotations

from collections import defaultdict
from statistics import median as middle
from typing import TYPE_CHECKING, NamedTuple

from coldsoak.stats.series import executions_of, first_ended
from coldsoak.stats.summary import lead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.model.causes import Cause
    from coldsoak.model.ledger import Ledger
    from coldsoak.model.recipe import Goal as GoalName
    from coldsoak.model.result import Launch, Result

__all__ = ["Goal", "goal_for"]

STEADY_RUNS = 3
"""Fewest executions for which the later ones stand for a steady state."""

_SCOPES = {"first-result": "first result", "first-region": "region", "exit": "launch"}


class Goal(NamedTuple):
    """What ``fix`` makes faster.

    ``series`` is the region that counts for ``first-region``, and whose later runs stand for the
    steady state; empty when the program has none.
    """

    name: GoalName
    series: str = ""

    def observe(self, launch: Launch) -> float | None:
        """Return the seconds of one launch; None when it has no such moment."""
        if self.name == "exit":
            return launch.wall_ns / 1e9
        if self.name == "first-region":
            runs = executions_of(launch, self.series)
            return runs[0].wall if runs else None
        first = first_ended(launch)
        return first.end_ns / 1e9 if first else None

    def steady(self, launch: Launch) -> float | None:
        """Return the median of the region's later runs in one launch, seconds; None without any."""
        runs = executions_of(launch, self.series)
        return middle(run.wall for run in runs[1:]) if len(runs) >= STEADY_RUNS else None

    def seconds(self, result: Result, arm: str) -> dict[Cause, float]:
        """Return the median time of each cause within the goal, over traced launches of ``arm``."""
        ledgers = [one for one in result.ledgers if one.arm == arm and self._mine(one)]
        return _medians(ledgers, cold=self.name == "first-region")

    def _mine(self, ledger: Ledger) -> bool:
        if ledger.scope != _SCOPES[self.name]:
            return False
        return ledger.scope != "region" or ledger.series == self.series


def goal_for(result: Result, wanted: GoalName | None) -> Goal:
    """Choose the goal: what the user asked for, else the first result, else the exit."""
    best = lead(series for summary in result.summaries for series in summary.series)
    if wanted is None:
        wanted = "first-result" if best else "exit"
    return Goal(wanted, best.series if best else "")


def _medians(ledgers: Iterable[Ledger], *, cold: bool) -> dict[Cause, float]:
    rows = []
    for ledger in ledgers:
        row: dict[Cause, float] = defaultdict(float)
        for line in ledger.lines:
            row[line.cause] += (line.cold_ns if cold else line.ns) / 1e9
        rows.append(row)
    causes = {cause for row in rows for cause in row}
    return {cause: middle(row.get(cause, 0.0) for row in rows) for cause in causes}
