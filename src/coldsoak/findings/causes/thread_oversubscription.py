"""More compute threads than cores

Libraries start a thread for each core they see. In a container with a CPU quota, or with a variable
that asks for more, the threads take turns and wait for each other in every parallel loop, so the
first run is slow and the later ones are too.

It fires when the environment asks for more compute threads than the cores that may be used, or a
quota leaves fewer than are visible and no variable says so, and the traced launches spent at least
5 % of a region, or of the time to the first result, waiting for a free core, while other programs
did not take it.

Set OMP_NUM_THREADS to the cores that may be used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import busy_machine
from coldsoak.findings.stakes import Stake, fix, stake
from coldsoak.findings.words import seconds_text, share_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "thread-oversubscription"
SEVERITY: Severity = "cause"

_SHARE = 0.05
_VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"),
)


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm with more threads than cores."""
    machine = view.result.machine
    for arm in view.result.arms:
        asked = _asked(view, arm.name)
        crowded = asked is not None and asked[1] > machine.cores_usable > 0
        hidden = asked is None and 0 < machine.cores_usable < machine.cores
        cost = _most(view, arm.name)
        if not (crowded or hidden) or cost is None or cost.share < _SHARE:
            continue
        fit = max(math.floor(machine.cores_usable), 1)
        why = (
            f"{asked[0]}={asked[1]} on {machine.cores_usable:g} usable cores"
            if asked is not None
            else f"{machine.cores} cores are visible and {machine.cores_usable:g} may be used"
        )
        busy = busy_machine(view, arm.name)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"{why}: threads wait {seconds_text(cost.seconds)} for a core, "
                f"{share_text(cost.share)} of {cost.of}."
            ),
            evidence=(cost.text,),
            advice=(f"export OMP_NUM_THREADS={fit}", fix(view, "threads.usable_cores")),
            confidence="possible" if busy else "likely",
            settle="Other programs were busy too: measure again on a quiet machine."
            if busy
            else "Measure it with the variable set.",
            arm=arm.name,
            seconds=cost.seconds,
        )


def _asked(view: View, arm: str) -> tuple[str, int] | None:
    env = view.env(arm)
    numbers = [(name, int(env[name])) for name in _VARIABLES if env.get(name, "").isdigit()]
    return max(numbers, key=lambda pair: pair[1], default=None)


def _most(view: View, arm: str) -> Stake | None:
    """Return the stretch of the arm with the largest share of waiting for a core."""
    places = ["", *(series.id for name, series, _ in view.each() if name == arm)]
    found = (stake(view, arm, Cause.RUN_QUEUE, series=place) for place in places)
    return max((one for one in found if one), key=lambda one: one.share, default=None)
