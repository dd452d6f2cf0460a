"""The driver is set up anew for each process

Without persistence mode the driver leaves the card when its last process ends, and the next process
waits until it is set up again: one to three seconds a card.

It fires when NVML says that the mode is off and the program initialised CUDA. The seconds are those
of the driver's start and the context; part of them remains with the mode on.

Setting the mode needs root. Where that cannot be had, a small process that keeps the card open does
the same while it lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import stake
from coldsoak.findings.words import seconds_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "persistence-off"
SEVERITY: Severity = "cause"

_LEAST_S = 0.3
"""What driver and context take with the mode on: 0.2 s on an H200."""


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that starts CUDA on a card without persistence."""
    off = [card for card in view.gpus if card.info.get("persistence") is False]
    for arm in view.result.arms if off else ():
        cost = stake(view, arm.name, Cause.DRIVER_INIT, Cause.CONTEXT_CREATE)
        if cost is None or cost.least < _LEAST_S:
            continue
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Persistence mode is off on {off[0].name}; driver and context take "
                f"{seconds_text(cost.seconds)} before the first result."
            ),
            evidence=(cost.text,),
            advice=("sudo nvidia-smi -pm 1",),
            confidence="likely",
            settle="Measure again while another process holds the card open.",
            arm=arm.name,
            seconds=cost.seconds,
        )
