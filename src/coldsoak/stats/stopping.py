"""How many launches: looks at fixed numbers, and a target width of the interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from coldsoak.model.base import Frozen
from coldsoak.stats import estimate, paired

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ARM_LOOKS",
    "PAIR_LOOKS",
    "QUICK_LOOKS",
    "Decision",
    "chosen_by_rule",
    "decide",
    "relative_half_width",
]

ARM_LOOKS = (10, 15, 20, 30, 40)
PAIR_LOOKS = (12, 20, 30, 40)
QUICK_LOOKS = (8,)

Reason = Literal["target", "budget", "maximum"]


class Decision(Frozen, kw_only=True):
    """Whether to go on after n launches (or pairs)."""

    stop: bool
    by: Reason | None = None
    n: int
    """Launches or pairs so far."""
    width: float | None = None
    """Half-width of the 95 % interval over the estimate, as far as it was looked at."""
    target: float
    next_look: int | None = None
    """Number at which the next look takes place; None after the last."""


def decide(
    values: Sequence[float],
    baseline: Sequence[float] | None = None,
    *,
    target: float = 0.05,
    looks: Sequence[int] | None = None,
    elapsed_s: float = 0.0,
    budget_s: float = math.inf,
    cost_s: float = 0.0,
) -> Decision:
    """Decide after ``len(values)`` launches whether another one is wanted.

    Args:
        values: One observation per valid launch.
        baseline: The other arm's observations when pairs are counted.
        target: Relative half-width at which a look stops.
        looks: Numbers at which the width is looked at; :data:`ARM_LOOKS` or :data:`PAIR_LOOKS`.
        elapsed_s: Seconds spent so far.
        budget_s: Seconds that may be spent.
        cost_s: Seconds that the next launch (or pair) is expected to take.

    """
    if looks is None:
        looks = ARM_LOOKS if baseline is None else PAIR_LOOKS
    n = len(values)
    width = relative_half_width(values, baseline) if n in looks else None
    by: Reason | None = None
    if width is not None and width <= target:
        by = "target"
    elif n >= looks[-1]:
        by = "maximum"
    elif n and elapsed_s + cost_s > budget_s:
        by = "budget"
    following = next((look for look in looks if look > n), None)
    return Decision(
        stop=by is not None, by=by, n=n, width=width, target=target, next_look=following
    )


def relative_half_width(
    values: Sequence[float], baseline: Sequence[float] | None = None
) -> float | None:
    """Return the half-width of the plain 95 % interval over its estimate; None without one."""
    if baseline is None:
        return estimate.half_width(estimate.median(values))
    return estimate.half_width(paired.compare(baseline, values).estimate)


def chosen_by_rule(n: int, looks: Sequence[int] = ARM_LOOKS) -> bool:
    """Tell whether a look may have chosen ``n``: none took place before the first number."""
    return n >= looks[0]
