"""The start waits for the network

Look-ups of model files, metadata or licences ask a server although everything is on the disk. They
cost milliseconds near the server, seconds far from it, and a minute where it cannot be reached, with
CPU and card idle all the while.

It fires when waiting for the network takes at least 50 ms and 2 % of the time to the first result,
or of the first run of a region, in every traced launch.

Resolve files once and pass a path; HF_HUB_OFFLINE=1 for the Hugging Face hub.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import Stake, stake, worth
from coldsoak.findings.words import seconds_text, share_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "network-at-start"
SEVERITY: Severity = "cause"

_LEAST_S = 0.05
_HUB = {"huggingface_hub", "transformers", "diffusers", "datasets"}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that waits, at the region where it does."""
    for arm in view.result.arms:
        places = [series.id for name, series, _ in view.each() if name == arm.name]
        for series in (*places, ""):
            cost = stake(view, arm.name, Cause.NETWORK_WAIT, series=series)
            if cost is not None and worth(cost, least_s=_LEAST_S):
                yield _finding(view, arm.name, cost, series)
                break


def _finding(view: View, arm: str, cost: Stake, series: str) -> Finding:
    hub = bool(view.packages(arm) & _HUB)
    file, line = view.place(view.series[series].start) if series else ("", 0)
    where = f"the first run of {view.name(series)}" if series else cost.of
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=(
            f"{seconds_text(cost.seconds)} of {where}, {share_text(cost.share)} of it, is waiting "
            "for a network peer, with the CPU idle."
        ),
        evidence=(cost.text, *((f"in {cost.named()}",) if cost.items else ())),
        advice=("export HF_HUB_OFFLINE=1",) if hub else (),
        settle="" if hub else "Who it asks: strace -f -e trace=connect",
        file=file,
        line=line,
        series=series,
        arm=arm,
        seconds=cost.seconds,
    )
