"""Every CUDA kernel is loaded at the start

CUDA_MODULE_LOADING=EAGER makes the driver load all kernels of all libraries when they are first
touched, used or not. torch took 7.7 to 10 s to its first result instead of 3.8 s on an H200.

It fires when the variable says so and a GPU framework was imported; the seconds are those of loading
modules in the traced launches.

Lazy loading is the default since CUDA 12.2. Each kernel then pays at its first launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import fix, stake
from coldsoak.findings.words import seconds_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "eager-module-loading"
SEVERITY: Severity = "cause"

_CAUSES = (Cause.MODULE_LOAD, Cause.LAZY_KERNEL_LOAD)


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that loads eagerly on a machine with a card."""
    for arm in view.result.arms:
        if view.env(arm.name).get("CUDA_MODULE_LOADING", "").upper() != "EAGER" or not view.gpus:
            continue
        cost = stake(view, arm.name, *_CAUSES)
        if not view.facts(arm.name) and not view.packages(arm.name) & {"torch", "jax", "cupy"}:
            continue
        seconds = cost.seconds if cost else None
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text="CUDA_MODULE_LOADING=EAGER loads every kernel of every library, used or not"
            + (f"; loading takes {seconds_text(seconds)}." if seconds else "."),
            evidence=(cost.text, *((cost.named(),) if cost.items else ())) if cost else (),
            advice=("unset CUDA_MODULE_LOADING", fix(view, "cuda.module_loading")),
            confidence="measured" if cost else "likely",
            settle="" if cost else "Without a traced launch its seconds are not known.",
            arm=arm.name,
            seconds=seconds,
        )
