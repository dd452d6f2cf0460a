"""Which arms are launched in the next round.

One round is a launch of the baseline and of every arm that is still open, in random order, so each
arm has a pair with the baseline in every round in which it took part. Arms are closed at the looks
of the statistics, when their verdict is clear.

Where the budget carries each remedy by itself to a verdict, that comes first. Then the winners are
combined: the combination is compared with the baseline and with itself without each of its parts;
what adds nothing goes, one at a time.

Where it does not, all remedies are tried together first, and then without each of them, those with
most at stake before the others, as far as the budget goes. What adds nothing goes at once, and what
is left is compared with the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

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
    "Sides",
    "Trials",
    "carries_each",
    "corrected_level",
    "pairs_of",
    "ratio_of",
]

BASELINE = "unchanged"
PLACEBO_ARM = "placebo"
TOGETHER = "together"
WITHOUT = "without "

ONCE = 1 + TRACED_COST
"""Rounds that give no pair: the discarded one and the traced one."""
TRIALS_SHARE = 0.65
"""Share of the budget for the single remedies; the rest is for the combination."""
FEWEST = estimate.minimum_n(0.95)
"""Pairs below which there is no interval."""
QUICK = stopping.QUICK_LOOKS[0]
ADDS = 0.025
"""Share of the time by which a part must shorten that of the whole to stay without more proof: half
of the difference that counts as one in practice."""


def corrected_level(remedies: int) -> float:
    """Return the level of the words for so many remedies and the placebo."""
    return paired.corrected_level(remedies + 1)


def carries_each(budget_s: float, launch_s: float, remedies: int) -> bool:
    """Tell whether a budget carries so many remedies by themselves to a verdict."""
    return _carried(budget_s, launch_s, remedies) >= _needed(corrected_level(remedies))


def _carried(budget_s: float, launch_s: float, arms: int) -> float:
    """Return the pairs that a budget carries of ``arms`` arms beside the baseline and the placebo."""
    round_s = launch_s * (arms + 2)
    return budget_s * TRIALS_SHARE / round_s - ONCE if round_s > 0 else float("inf")


def _needed(level: float) -> int:
    """Return the pairs below which no verdict is possible at ``level``."""
    return max(FEWEST, estimate.minimum_n(level))


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


class Sides(NamedTuple):
    """Two arms that differ by one remedy."""

    lacking: str
    """Empty where no arm lacks only that."""
    having: str


@dataclass
class Combination:
    """Several remedies together, and without each of them."""

    members: tuple[str, ...]
    arm: str
    without: dict[str, str] = field(default_factory=dict)
    """By remedy, the arm that lacks it; those are missing that there was no time to ask for."""
    began: int = 0
    """Rounds before its parts were taken away."""


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
        choose: Says which remedies won, or with ``whole``, which took effect.
        make: Makes the arms of combinations.
        whole: The remedies are tried together first, in an arm :data:`TOGETHER`, not one by one.

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
        whole: bool = False,
    ) -> None:
        super().__init__(paired=True, options=options)
        self._goal = goal
        self._choose = choose
        self._make = make
        self.whole = tuple(tried) if whole else ()
        """The remedies, if they are tried together first."""
        self._open = [TOGETHER] if whole else list(tried)
        self._level = corrected_level(len(self._open))
        self._first = self._planned(launch_s)
        self.combinations: list[Combination] = []
        self.untested: list[str] = []
        """What there was no time for, in sentences."""
        self._without_effect: list[str] = []
        self._next: list[Arm] | None = None
        self._rounds = 0

    @property
    def level(self) -> float:
        """Level of the words ``faster`` and ``slower``, corrected for the number of remedies."""
        return self._level

    @property
    def needed(self) -> int:
        """Pairs below which no verdict is possible at that level."""
        return _needed(self._level)

    @property
    def forecast_pairs(self) -> int:
        """Pairs of each remedy that are planned."""
        return self._options.launches or self._first

    def _planned(self, launch_s: float) -> int:
        """Return the pairs of the first look: as many as the budget carries, twelve at the most.

        The number is fixed before the first launch, so it needs no correction for looking. Of the
        whole it is as few as a verdict needs: its parts are to have the rest of the budget.
        """
        if self.whole:
            return self.needed
        carried = _carried(self._options.budget_s, launch_s, len(self._open))
        return int(min(stopping.PAIR_LOOKS[0], max(self.needed, carried)))

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
            late = elapsed_s + cost * (len(self._open) + 2) > allowed
            over = not self._open or self._rounds >= stopping.PAIR_LOOKS[-1]
            over = over or (late and self._rounds >= self._first)
            over = over or elapsed_s > self._options.budget_s
        if not over:
            return None
        if self.whole:
            return self._take_apart(result, elapsed_s)
        return self._combine(result, self._choose(result), elapsed_s)

    def _close(self, result: Result) -> None:
        """Close the arms whose verdict is clear at a look."""
        if self._rounds not in {self._first, *stopping.PAIR_LOOKS}:
            return
        for name in list(self._open):
            ratio = ratio_of(result, self._goal, result.arms[0].name, name, level=self._level)
            if ratio is not None and (ratio.clear or ratio.verdict == "same"):
                self._open.remove(name)

    # Several together

    def _combine(self, result: Result, winners: Sequence[str], elapsed_s: float) -> Reason | None:
        """Plan the rounds of a combination; with one winner its own trial is the proof."""
        if len(winners) < 2:
            return self._stopped(result, elapsed_s)
        self._begin(result, winners)
        if self._options.launches or self._room(result, elapsed_s) >= len(winners):
            self._take_away(winners)
        else:
            self.untested.append(
                f"There was no time to test {', '.join(winners)} together without each of them"
            )
        return None

    def _take_apart(self, result: Result, elapsed_s: float) -> Reason | None:
        """Plan the rounds in which single parts are missing from the whole."""
        whole = next((arm for arm in result.arms if arm.name == TOGETHER), None)
        ratio = ratio_of(result, self._goal, BASELINE, TOGETHER, level=self._level)
        if whole is None or ratio is None:
            self.untested.append(f"{', '.join(self.whole)} do not work together")
            return self._stopped(result, elapsed_s)
        chosen = self._choose(result)
        worth = [name for name in self.whole if name in chosen]
        self._without_effect = [name for name in self.whole if name not in worth]
        self.combinations.append(Combination(self.whole, TOGETHER, began=self._rounds))
        if ratio.verdict == "same" or not worth:
            return self._stopped(result, elapsed_s)
        room = max(0, self._room(result, elapsed_s))
        if worth[room:]:
            self.untested.append(
                f"There was no time to test the whole without {' or '.join(worth[room:])}"
            )
        if not room:
            return self._stopped(result, elapsed_s)
        self._next = [result.arms[0], whole]
        self._take_away(worth[:room])
        return None

    def _begin(self, result: Result, members: Sequence[str], *others: Arm) -> None:
        """Plan rounds of ``members`` together, beside the baseline and ``others``."""
        number = len(self.combinations) + 1
        name = TOGETHER if number == 1 else f"{TOGETHER} {number}"
        self.combinations.append(Combination(tuple(members), name, began=self._rounds))
        self._next = [result.arms[0], self._make(name, members), *others]

    def _take_away(self, parts: Sequence[str]) -> None:
        """Add to the next rounds the combination without each of ``parts``."""
        now = self.combinations[-1]
        for part in parts:
            now.without[part] = f"{now.arm} {WITHOUT}{part}"
            rest = [other for other in now.members if other != part]
            self._next = [*(self._next or ()), self._make(now.without[part], rest)]

    def _room(self, result: Result, elapsed_s: float) -> int:
        """Return how many arms there is time for beside the baseline and the combination."""
        each = _launch_s(result) * (self._together_pairs() + 1)
        left = self._options.budget_s - elapsed_s
        return int(left / each) - 2 if each else len(self.combinations[-1].members)

    def _together_pairs(self) -> int:
        return self._options.launches or (self.needed if self.whole else QUICK)

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
        if late or done < FEWEST or (self.whole and len(self.combinations) > 1):
            return self._stopped(result, elapsed_s)
        idle = self._idle(result)
        if self.whole:
            return self._compare_rest(result, [*idle, *self._without_effect], elapsed_s)
        if len(idle) < 2:  # that without a single idle part was tried just now
            return self._stopped(result, elapsed_s)
        kept = [name for name in now.members if name != idle[0]]
        return self._combine(result, kept, elapsed_s)

    def _compare_rest(self, result: Result, gone: Sequence[str], elapsed_s: float) -> Reason | None:
        """Plan the rounds of the whole beside what is left of it without all those ``gone``."""
        kept = [name for name in self.whole if name not in gone]
        tried = len(gone) == 1 and gone[0] in self.combinations[0].without
        if tried or not gone or not kept:
            return self._stopped(result, elapsed_s)
        if self._room(result, elapsed_s) < 1:
            self.untested.append(
                f"There was no time to test {' and '.join(kept)} without those that add nothing"
            )
            return self._stopped(result, elapsed_s)
        whole = next(arm for arm in result.arms if arm.name == TOGETHER)
        self._begin(result, kept, whole)
        return None

    def sides_of(self, remedy: str) -> Sides:
        """Return the arms without and with ``remedy`` that tell what it saves."""
        if not self.whole:
            return Sides(BASELINE, remedy)
        without = self.combinations[0].without if self.combinations else {}
        return Sides(without.get(remedy, ""), TOGETHER)

    def proposals(self, result: Result) -> list[tuple[list[str], str]]:
        """Return combinations with the arms that had them, the one to prefer first.

        What took no effect in the whole is left out of it: the arm is the same without.
        """
        found: list[tuple[list[str], str]] = []
        if not self.combinations:
            return found
        last = self.combinations[-1]
        idle = next(iter(self._idle(result)), "")
        if idle:
            kept = [name for name in last.members if name != idle]
            found.append((kept, last.without[idle]))
        found.append((list(last.members), last.arm))
        if self.whole and len(self.combinations) > 1:
            whole = self.combinations[0]
            rest = ratio_of(result, self._goal, whole.arm, last.arm, fixed=True)
            worse = rest is None or not _adds_nothing(rest)
            found.insert(0 if worse else len(found), (list(whole.members), whole.arm))
        effective = [
            ([name for name in members if name not in self._without_effect], arm)
            for members, arm in found
        ]
        return [(members, arm) for members, arm in effective if members]

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
            if (_adds_nothing(ratio) if self.whole else _none_the_slower(ratio))
        ]
        return sorted(idle, key=lambda name: without[name].estimate.point)

    def _stopped(self, result: Result, elapsed_s: float) -> Reason:
        if self._options.launches is not None:
            return "fixed"
        spent = elapsed_s + 2 * _launch_s(result) > self._options.budget_s * TRIALS_SHARE
        return "budget" if (self._open or self.untested) and spent else "target"


def _none_the_slower(without: Ratio) -> bool:
    """Tell whether a part that is proved by itself adds nothing to the others."""
    return without.verdict in {"same", "faster"} or without.estimate.point <= 1.0


def _adds_nothing(without: Ratio) -> bool:
    """Tell whether nothing speaks for a part that was never tried by itself."""
    return without.verdict != "slower" and without.estimate.point < 1.0 + ADDS


def _launch_s(result: Result) -> float:
    """Return what a launch costs: the median wall time of the baseline's, with some for starting."""
    walls = sorted(one.wall_ns / 1e9 for one in result.launches if one.arm == result.arms[0].name)
    return 1.03 * walls[len(walls) // 2] if walls else 0.0
