"""When enough was launched: the looks of the statistics, applied to the arms of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from coldsoak.launch.schedule import extras_for
from coldsoak.stats import stopping, summary
from coldsoak.stats.series import executions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.launch.schedule import Costs, Extras
    from coldsoak.model.result import Arm, Launch, LaunchKind, Options, Result

__all__ = ["Looks", "Reason", "headline"]

Reason = Literal["target", "budget", "maximum", "fixed"]


def headline(launches: Sequence[Launch], series: str) -> list[float]:
    """Return the observation of each launch that decides: run 0 of ``series``, else the wall.

    Seconds. The wall time stands for all of them when a single launch lacks the series.
    """
    firsts = [runs[0].wall for one in launches if (runs := executions_of(one, series))]
    if series and len(firsts) == len(launches) and all(first > 0 for first in firsts):
        return firsts
    return [one.wall_ns / 1e9 for one in launches]


class Looks:
    """Decides after each round whether another one is wanted.

    Args:
        paired: Every arm is compared with the first (``fix``): the width of the ratio counts.
        options: With the number, the budget and the target.

    """

    def __init__(self, *, paired: bool, options: Options) -> None:
        self._paired = paired
        self._options = options
        self._looks = stopping.PAIR_LOOKS if paired else stopping.ARM_LOOKS

    def decide(
        self, result: Result, arms: Sequence[Arm], *, elapsed_s: float, cost_s: float
    ) -> Reason | None:
        """Return what ends the launches, or None to go on.

        Args:
            result: With the launches so far.
            arms: Those that still take part.
            elapsed_s: Seconds spent, those reserved for other kinds included.
            cost_s: Seconds that another timed round takes.

        """
        rows = self._rows(result, arms)
        n = min((len(row) for row in rows), default=0)
        if self._options.launches is not None:
            return "fixed" if n >= self._options.launches else None
        if not n:
            return "budget" if elapsed_s > self._options.budget_s else None
        first = rows[0][:n] if self._paired and len(rows) > 1 else None
        decided = {
            stopping.decide(
                row[:n],
                first,
                looks=self._looks,
                target=self._options.target,
                elapsed_s=elapsed_s,
                budget_s=self._options.budget_s,
                cost_s=cost_s,
            ).by
            for row in (rows if first is None else rows[1:])
        }
        if decided == {"target"}:
            return "target"
        return "maximum" if "maximum" in decided else "budget" if "budget" in decided else None

    def extras(self, *, synced: bool) -> list[LaunchKind]:
        """Return the kinds of the extra rounds; ``synced`` says whether the session wants those."""
        return extras_for(self._options.launches, trace=self._options.trace, synced=synced)

    def arms(self, result: Result, arms: Sequence[Arm]) -> Sequence[Arm]:
        """Return the arms of the next round; asked after :meth:`decide` said to go on."""
        del result
        return arms

    def forecast(
        self, result: Result, arms: int, costs: Costs, extras: Extras, *, elapsed_s: float
    ) -> tuple[int, float]:
        """Return launches expected in all and seconds left, both at the most."""
        done = len(result.launches)
        timed = sum(one.kind == "timed" for one in result.launches)
        most = self._options.launches or self._looks[-1]
        rounds = max(0.0, most + 1 - timed / arms)
        cost, reserved = costs.of("timed"), extras.reserved_s(costs)
        if self._options.launches is None:
            seconds = max(0.0, self._options.budget_s - elapsed_s)
            if not cost:
                return done + arms, seconds
            rounds = min(rounds, max(0.0, seconds - reserved) / cost)
        left = int(rounds * arms) + len(extras) * arms
        return done + max(1, left), rounds * cost + reserved

    def _rows(self, result: Result, arms: Sequence[Arm]) -> list[list[float]]:
        """One row of observations for each arm; pairs are matched by their round."""
        series = next((s.id for s in sorted(result.series, key=lambda s: s.order)), "")
        usable = [summary.usable(result.launches, arm.name) for arm in arms]
        if self._paired:
            rounds = set.intersection(*({one.round for one in row} for row in usable))
            usable = [[one for one in row if one.round in rounds] for row in usable]
        return [headline(row, self._series_of(row, series, result)) for row in usable]

    def _series_of(self, launches: Sequence[Launch], series: str, result: Result) -> str:
        """Arms of a bench have series of their own: take the first that the launches have."""
        if any(executions_of(one, series) for one in launches):
            return series
        seen = {run.series for one in launches for run in one.executions}
        return next(
            (s.id for s in sorted(result.series, key=lambda s: s.order) if s.id in seen), ""
        )
