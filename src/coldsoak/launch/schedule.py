"""Which launch comes next: rounds, looks, and the budget's share for looking closer.

Round 0 is one launch for each arm and is discarded. Then rounds of timed launches follow, each a
random permutation of the arms, until the interval is narrow enough, the budget is spent or the
largest number is reached. Traced and synced rounds are put between the first timed rounds, so
that drift touches both alike; about a third of the budget is theirs.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.result import Arm, LaunchKind

__all__ = ["EXTRA_SHARE", "TRACED_COST", "Costs", "Extras", "Permuter", "Round", "extras_for"]

EXTRA_SHARE = 1 / 3
"""Share of the budget for traced and synced launches."""
TRACED_COST = 1.3
"""How much dearer a traced launch is expected to be before one was seen."""


@dataclass(frozen=True)
class Round:
    """One launch of ``kind`` for each arm that still takes part."""

    kind: LaunchKind
    number: int
    """Timed rounds count from 1; others carry the number of the timed round before them."""


class Permuter:
    """Draws the order of the arms in each round; the seed is stored with the result."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - an order, not a secret

    def order(self, arms: Sequence[Arm]) -> list[Arm]:
        """Return the arms in random order."""
        return self._random.sample(list(arms), len(arms))


def extras_for(launches: int | None, *, trace: bool, synced: bool) -> list[LaunchKind]:
    """Return the kinds of the extra rounds, in order.

    Args:
        launches: Timed launches that the user fixed; None when the rule decides.
        trace: Traced launches are wanted.
        synced: Synced launches are wanted.

    """
    traced_n = 3 if launches is None else min(3, -(-launches // 3))
    synced_n = 2 if launches is None else min(2, -(-launches // 5))
    wanted: list[LaunchKind] = []
    for number in range(3):
        if trace and number < traced_n:
            wanted.append("traced")
        if synced and number < synced_n:
            wanted.append("synced")
    return wanted


class Extras:
    """The extra rounds that are left, and whether the next one may still be paid for."""

    def __init__(self, kinds: Sequence[LaunchKind], allowance_s: float) -> None:
        self._left = list(kinds)
        self._allowance = allowance_s
        self._spent = 0.0
        self._had: Counter[LaunchKind] = Counter()

    def next(self, costs: Costs) -> LaunchKind | None:
        """Return the next kind that is due, or None.

        The first traced round is never left out; others must fit into the extras' share.
        """
        while self._left:
            kind = self._left[0]
            first = kind == "traced" and not self._had[kind]
            if first or self._spent + costs.of(kind) <= self._allowance:
                return kind
            self._left.pop(0)
        return None

    def done(self, kind: LaunchKind, seconds: float) -> None:
        """Book a finished extra round."""
        self._left.remove(kind)
        self._had[kind] += 1
        self._spent += seconds

    def __len__(self) -> int:
        return len(self._left)

    def reserved_s(self, costs: Costs) -> float:
        """Return the seconds that the rest is going to take, as far as it fits its share."""
        wanted = sum(costs.of(kind) for kind in self._left)
        return min(wanted, max(0.0, self._allowance - self._spent))


@dataclass
class Costs:
    """What the rounds of each kind took, in seconds of wall time."""

    _rounds: dict[LaunchKind, list[float]] = field(default_factory=dict)

    def book(self, kind: LaunchKind, seconds: float) -> None:
        """Add the cost of a finished round; round 0 counts as a timed one."""
        self._rounds.setdefault(kind, []).append(seconds)

    def of(self, kind: LaunchKind) -> float:
        """Return what a round of ``kind`` is expected to take: the median of those seen."""
        if seen := sorted(self._rounds.get(kind, ())):
            return seen[len(seen) // 2]
        if kind == "timed":
            return 0.0
        return self.of("timed") * (TRACED_COST if kind == "traced" else 1.0)
