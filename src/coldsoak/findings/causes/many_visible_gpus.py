"""The driver sets up cards that the program does not use

Every visible card is looked at when a process initialises CUDA, one after the other: 0.39 s with
eight cards instead of 0.08 s with one in one report, and frameworks may make a context on each.

It fires when several cards are visible, work ran on one of them at most, and the start of the driver
and the context take at least 20 ms.

CUDA_VISIBLE_DEVICES hides the others. It changes how cards are numbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import fix, stake, worth
from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "many-visible-gpus"
SEVERITY: Severity = "cause"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that sees many cards and uses one."""
    for arm in view.result.arms if len(view.gpus) > 1 else ():
        facts = view.facts(arm.name)
        used = {device for one in facts for work in one.work for device in work.devices}
        cost = stake(view, arm.name, Cause.DRIVER_INIT, Cause.CONTEXT_CREATE)
        chosen = "CUDA_VISIBLE_DEVICES" in view.env(arm.name)
        seen = any(one.device_seen for one in facts)
        if cost is None or chosen or not seen or len(used) > 1 or not worth(cost):
            continue
        device = min(used, default=0)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"{plural(len(view.gpus), 'card')} are visible and work ran on card {device} alone; "
                f"driver and context take {seconds_text(cost.seconds)}."
            ),
            evidence=(cost.text,),
            advice=(f"export CUDA_VISIBLE_DEVICES={device}", fix(view, "cuda.visible_devices")),
            confidence="possible",
            settle="How much of it the other cards cost: try it with one visible.",
            arm=arm.name,
            seconds=cost.seconds,
        )
