"""Which arms of a bench still fit into the time: each gets a figure before any gets a second one.

A round of many arms takes long, longer still on a busy machine. What does not fit is left out and
said; what was measured is kept.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from coldsoak.launch.schedule import TRACED_COST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.launch.schedule import Round
    from coldsoak.model.result import Arm

__all__ = ["Room"]

_ROUNDS = 2 + TRACED_COST
"""Launches that an arm should have at the least, in timed ones: discarded, timed and traced."""
_NAMED = 3


class Room:
    """Knows what the launches of each arm took, and tells whether another one fits.

    Args:
        arms: All that were asked for.
        budget_s: Seconds for all launches; None when there is no limit: then everything fits.

    """

    def __init__(self, arms: Sequence[Arm], budget_s: float | None) -> None:
        self._arms = tuple(arms)
        self._budget_s = budget_s
        self._seen: dict[str, float] = {}
        self._timed = False
        self.unopened: list[Arm] = []
        """Arms that were not launched at all."""
        self.untraced: list[Arm] = []
        """Arms without a traced launch, of which the causes are not known."""

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._budget_s is not None

    def book(self, this: Round, arm: Arm, seconds: float) -> None:
        """Note what ``arm`` took in a round, replacements included."""
        self._timed = self._timed or (this.kind == "timed" and this.number > 0)
        share = TRACED_COST if this.kind == "traced" else 1.0
        self._seen[arm.name] = max(self._seen.get(arm.name, 0.0), seconds / share)
        if this.kind == "traced":
            self._refuse(self.untraced, arm, refused=False)

    def fits(self, this: Round, arm: Arm, elapsed_s: float) -> bool:
        """Tell whether ``arm`` may be launched in a round; an arm that may not is noted.

        In round 0 an arm must leave those before it the time for a timed launch, and have it itself.
        The very first launch of round 0 and of round 1 is never refused.
        """
        if self._budget_s is None:
            return True
        cost = self._cost(arm)
        if this.kind == "timed" and this.number == 0:
            due = sum(self._seen.values())
            fits = not self._seen or elapsed_s + due + 2 * cost <= self._budget_s
            return self._refuse(self.unopened, arm, refused=not fits)
        if this.kind == "timed" and this.number == 1:
            return not self._timed or elapsed_s <= self._budget_s
        if this.kind == "traced" and this.number == 1:
            fits = elapsed_s + TRACED_COST * cost <= self._budget_s
            return self._refuse(self.untraced, arm, refused=not fits)
        return elapsed_s + cost <= self._budget_s

    def said(self, untimed: Sequence[Arm]) -> list[tuple[str, str]]:
        """Return code and text of a note for each way in which arms were left out.

        Args:
            untimed: Arms that were begun and have no timed launch that counts.

        """
        if self._budget_s is None:
            return []
        enough = math.ceil(sum(map(self._cost, self._arms)) * _ROUNDS / 10) * 10
        missed = [*self.unopened, *untimed]
        blind = [one for one in self.untraced if one not in missed]
        notes = []
        if missed:
            notes.append(("arms_left_out", f"no time was left for {_names(missed)}"))
        if blind:
            text = f"no time was left to look for the causes in {_names(blind)}"
            notes.append(("causes_left_out", text))
        if notes:
            budget = max(enough, math.ceil(self._budget_s) + 10)
            code, text = notes[-1]
            notes[-1] = code, f"{text}; --budget {budget} should have room for all"
        return notes

    @staticmethod
    def _refuse(those: list[Arm], arm: Arm, *, refused: bool) -> bool:
        """Keep the list of those that were refused; return whether ``arm`` may go on."""
        if refused:
            those.append(arm)
        elif arm in those:
            those.remove(arm)
        return not refused

    def _cost(self, arm: Arm) -> float:
        """Seconds of a launch: what the arm took at most, else the least of its framework, else 0."""
        if arm.name in self._seen:
            return self._seen[arm.name]
        framework = arm.case.framework if arm.case else None
        kin = [
            self._seen[one.name]
            for one in self._arms
            if one.name in self._seen and one.case and one.case.framework == framework
        ]
        return min(kin, default=0.0)


def _names(arms: Sequence[Arm]) -> str:
    names = [arm.name for arm in arms]
    if len(names) <= _NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
