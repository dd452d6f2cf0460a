"""Which arms are launched in the next round: trials, then the winners together.

One round is a launch of the baseline and of every arm that is still open, in random order, so each
arm has a pair with the baseline in every round in which it took part. Arms are closed at the looks
of the statistics, when their verdict is clear, and at an early look when the budget will not carry
all of them to the first. Then the winners are combined: the combination is compared with the
baseline and with itself without each of its parts; what adds nothing goes, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coldsoak.launch.looks import Looks
from coldsoak.launch.schedule import TRACED_COST, extras_for
from coldsoak.stats import estimate, paired, stopping, summary

if TYPE_CHECKING:
    from coldsoak.launch.looks import Reason
    from coldsoak.launch.schedule import Costs, Extras
    from coldsoak.model.estimate import Ratio
    from coldsoak.model.result import Arm, LaunchKind, Options, Result
    from coldsoak.remedies.goals import Goal

__all__ = [
    "BASELINE",
    "PLACEBO_ARM",
    "TOGETHER",
    "Trials",
    "corrected_level",
    "pairs_of",
    "ratio_of",
]

BASELINE = "unchanged"
PLACEBO_ARM = "placebo"
TOGETHER = "together"
WITHOUT = "without "

EARLY = 4
"""Pairs after which arms may be given up for want of time."""
ONCE = 1 + TRACED_COST
"""Rounds that give no pair: the discarded one and the traced one."""
TRIALS_SHARE = 0.65
"""Share of the budget for the single remedies; the rest is for the combination."""
FEWEST = estimate.minimum_n(0.95)
"""Pairs below which there is no interval."""
QUICK = stopping.QUICK_LOOKS[0]


def corrected_level(remedies: int) -> float:
    """Return the level of the words for so many remedies and the placebo."""
    return paired.corrected_level(remedies + 1)


def pairs_of(result: Result, goal: Goal, one: str, other: str) -> tuple[list[float], list[float]]:
    """Return what two arms gave in the rounds that both completed."""
    launches = result.launches
    return paired.match(
        summary.usable(launches, one), summary.usable(launches, other), goal.observe
    )


def ratio_of(
    result: Result, goal: Goal, one: str, other: str, *, level: float = 0.95, fixed: bool = False
) -> Ratio | None:
    """Compare arm ``other`` with ``one`` for the goal; None without a pair."""
    a, b = pairs_of(result, goal, one, other)
    if not a or min(*a, *b) <= 0:
        return None
    after = not fixed and stopping.chosen_by_rule(len(a), stopping.PAIR_LOOKS)
    return paired.compare(a, b, level=level, after_stopping=after)


@dataclass
class Combination:
    """The winners together, and without each of them."""

    members: tuple[str, ...]
    arm: str
    without: dict[str, str] = field(default_factory=dict)
    """By remedy, the arm that lacks it; empty where there was no time to ask."""
    began: int = 0
    """Rounds before it."""


Choose = Callable[["Result"], list[str]]
"""Returns the remedies that may be combined, best first, from a result with finished trials."""
Make = Callable[[str, "Sequence[str]"], "Arm"]
"""Makes an arm by its name from the ids of remedies."""


class Trials(Looks):
    """The looks of a session of kind ``fix``.

    Args:
        options: With the budget, and the number of pairs if the user fixed it.
        goal: What is compared.
        tried: Ids of the remedies, in order of what is at stake; their arms have the same names.
        launch_s: What a launch takes, as far as the diagnosis tells.
        choose: Says which remedies won.
        make: Makes the arms of combinations.

    """

    def __init__(
        self,
        options: Options,
        goal: Goal,
        tried: Sequence[str],
        *,
        launch_s: float,
        choose: Choose,
        make: Make,
    ) -> None:
        super().__init__(paired=True, options=options)
        self._goal = goal
        self._choose = choose
        self._make = make
        self._open = list(tried)
        self._level = corrected_level(len(tried))
        self._first = self._planned(launch_s)
        self.combinations: list[Combination] = []
        self.given_up: dict[str, str] = {}
        """Arms closed without a verdict, and why."""
        self.untested: list[str] = []
        """What there was no time for, in sentences."""
        self._next: list[Arm] | None = None
        self._rounds = 0

    @property
    def level(self) -> float:
        """Level of the words ``faster`` and ``slower``, corrected for the number of remedies."""
        return self._level

    @property
    def needed(self) -> int:
        """Pairs below which no verdict is possible at that level."""
        return max(FEWEST, estimate.minimum_n(self._level))

    @property
    def forecast_pairs(self) -> int:
        """Pairs of each remedy that are planned."""
        return self._options.launches or self._first

    def _planned(self, launch_s: float) -> int:
        """Return the pairs of the first look: as many as the budget carries, twelve at the most.

        The number is fixed before the first launch, so it needs no correction for looking.
        """
        round_s = launch_s * (len(self._open) + 2)
        most = stopping.PAIR_LOOKS[0]
        if round_s <= 0:
            return most
        carried = int(self._options.budget_s * TRIALS_SHARE / round_s - ONCE)
        return min(most, max(self.needed, carried))

    def extras(self, *, synced: bool) -> list[LaunchKind]:
        """One traced round: it shows by their ledgers which changes took effect."""
        del synced
        return extras_for(1, trace=self._options.trace, synced=False)

    def decide(
        self, result: Result, arms: Sequence[Arm], *, elapsed_s: float, cost_s: float
    ) -> Reason | None:
        """Close what is decided, plan the next round, and say when there is none."""
        del cost_s
        self._rounds += 1
        alive = {arm.name for arm in arms}
        self._open = [name for name in self._open if name in alive]
        if self.combinations:
            return self._after_combination(result, alive, elapsed_s)
        return self._after_trial(result, elapsed_s)

    def arms(self, result: Result, arms: Sequence[Arm]) -> Sequence[Arm]:
        """Return the arms of the next round, as :meth:`decide` planned it."""
        if self._next is not None:
            return self._next
        keep = {result.arms[0].name, PLACEBO_ARM, *self._open}
        return [arm for arm in arms if arm.name in keep]

    def forecast(
        self, result: Result, arms: int, costs: Costs, extras: Extras, *, elapsed_s: float
    ) -> tuple[int, float]:
        """Return launches expected in all, and the seconds of the budget that are left."""
        del costs, extras
        done = len(result.launches)
        cost = _launch_s(result)
        left = max(0.0, self._options.budget_s - elapsed_s)
        pairs = self.forecast_pairs
        wanted = (pairs + 1 - min(self._rounds, pairs)) * arms
        if cost:
            wanted = min(wanted, int(left / cost) + 1)
        return done + max(1, wanted), left

    # The single remedies

    def _after_trial(self, result: Result, elapsed_s: float) -> Reason | None:
        pairs = self._options.launches
        cost = _launch_s(result)
        allowed = self._options.budget_s * TRIALS_SHARE
        if pairs is not None:
            over = self._rounds >= pairs
        else:
            self._close(result)
            if self._rounds == EARLY:
                self._give_up(result, allowed - elapsed_s, cost)
            late = elapsed_s + cost * (len(self._open) + 2) > allowed
            over = not self._open or self._rounds >= stopping.PAIR_LOOKS[-1]
            over = over or (late and self._rounds >= self._first)
            over = over or elapsed_s > self._options.budget_s
        if not over:
            return None
        return self._combine(result, self._choose(result), elapsed_s)

    def _close(self, result: Result) -> None:
        """Close the arms whose verdict is clear at a look."""
        if self._rounds not in {self._first, *stopping.PAIR_LOOKS}:
            return
        for name in list(self._open):
            ratio = ratio_of(result, self._goal, result.arms[0].name, name, level=self._level)
            if ratio is not None and (ratio.clear or ratio.verdict == "same"):
                self._open.remove(name)

    def _give_up(self, result: Result, left_s: float, cost: float) -> None:
        """Keep the arms that the budget carries to the first look, those that save most."""
        rounds = max(1, self._first - EARLY)
        room = max(1, int(left_s / (rounds * cost)) - 2) if cost else len(self._open)
        ratios = {
            name: ratio.estimate.point
            for name in self._open
            if (ratio := ratio_of(result, self._goal, result.arms[0].name, name)) is not None
        }
        ranked = sorted(self._open, key=lambda name: ratios.get(name, 1.0))
        for name in ranked[room:]:
            self.given_up[name] = f"given up after {EARLY} pairs: the budget is too short for all"
        self._open = [name for name in self._open if name not in self.given_up]

    # The winners together

    def _combine(self, result: Result, winners: Sequence[str], elapsed_s: float) -> Reason | None:
        """Plan the rounds of a combination; with one winner its own trial is the proof."""
        if len(winners) < 2:
            return self._stopped(result, elapsed_s)
        name = TOGETHER if not self.combinations else f"{TOGETHER} {len(self.combinations) + 1}"
        combination = Combination(members=tuple(winners), arm=name, began=self._rounds)
        arms = [result.arms[0], self._make(name, winners)]
        cost = _launch_s(result)
        left = self._options.budget_s - elapsed_s
        need = self._together_pairs() + 1
        if self._options.launches or left >= cost * need * (2 + len(winners)):
            for one in winners:
                arm = f"{name} {WITHOUT}{one}"
                combination.without[one] = arm
                arms.append(self._make(arm, [other for other in winners if other != one]))
        else:
            self.untested.append(
                f"There was no time to test {', '.join(winners)} together without each of them"
            )
        self.combinations.append(combination)
        self._next = arms
        return None

    def _together_pairs(self) -> int:
        return self._options.launches or QUICK

    def _after_combination(
        self, result: Result, alive: set[str], elapsed_s: float
    ) -> Reason | None:
        now = self.combinations[-1]
        done = self._rounds - now.began
        if now.arm not in alive:
            self.untested.append(f"{', '.join(now.members)} do not work together")
            return self._stopped(result, elapsed_s)
        self._next = [arm for arm in self._next or () if arm.name in alive]
        late = elapsed_s + _launch_s(result) * len(self._next) > self._options.budget_s
        if done < self._together_pairs() and not (late and self._options.launches is None):
            return None
        idle = self._idle(result)
        if len(idle) < 2 or done < FEWEST:  # that without a single idle part was tried just now
            return self._stopped(result, elapsed_s)
        kept = [name for name in now.members if name != idle[0]]
        if len(kept) < 2 or late:
            return self._stopped(result, elapsed_s)
        return self._combine(result, kept, elapsed_s)

    def idle(self, result: Result) -> str:
        """Return the part without which the last combination is best, if it is none the slower."""
        return next(iter(self._idle(result)), "")

    def _idle(self, result: Result) -> list[str]:
        """Return the parts without which the last combination is none the slower, idlest first."""
        now = self.combinations[-1]
        without = {
            name: ratio
            for name, arm in now.without.items()
            if (ratio := ratio_of(result, self._goal, now.arm, arm, fixed=True)) is not None
        }
        idle = [
            name
            for name, ratio in without.items()
            if ratio.verdict in {"same", "faster"} or ratio.estimate.point <= 1.0
        ]
        return sorted(idle, key=lambda name: without[name].estimate.point)

    def _stopped(self, result: Result, elapsed_s: float) -> Reason:
        if self._options.launches is not None:
            return "fixed"
        spent = elapsed_s + 2 * _launch_s(result) > self._options.budget_s * TRIALS_SHARE
        return "budget" if self._open and spent else "target"


def _launch_s(result: Result) -> float:
    """Return what a launch costs: the median wall time of the baseline's, with some for starting."""
    walls = sorted(one.wall_ns / 1e9 for one in result.launches if one.arm == result.arms[0].name)
    return 1.03 * walls[len(walls) // 2] if walls else 0.0
