"""The driver compiles device code at first use

A library has no machine code for this card, only PTX, which the driver turns into machine code when
it is first needed: seconds to half an hour on one CPU core, while the card idles. The driver keeps
the result in its compute cache; where that cannot be kept, every process pays.

It fires when CUPTI recorded such compilations of at least 20 ms, or loads from the cache that tell
of an earlier one (then as a note on the next machine).

Install a build for the card's architecture (`coldsoak doctor` names the libraries without), and keep
CUDA_CACHE_PATH on a disk that stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import fix, stake
from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "ptx-jit"
SEVERITY: Severity = "cause"

_LEAST_S = 0.02


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm in which the driver compiled PTX."""
    for arm in view.result.arms:
        events = [
            event
            for event in view.events(arm.name, "cuda.jit")
            if event.name == "COMPILE" and any("PTX_TO_CUBIN" in text for text in event.details)
        ]
        cost = stake(view, arm.name, Cause.PTX_JIT)
        spent = sum(event.ns for event in events) / 1e9 / max(len(view.facts(arm.name)), 1)
        seconds = max(cost.seconds if cost else 0.0, spent)
        if seconds < _LEAST_S:
            continue
        yield _finding(view, arm.name, seconds, sum(event.count for event in events))


def _finding(view: View, arm: str, seconds: float, programs: int) -> Finding:
    facts = view.facts(arm)
    callers = [name for one in facts for name in one.jit_callers]
    stores = sum(event.count for event in view.events(arm, "cuda.jit", "CACHE_STORE"))
    disabled = view.env(arm).get("CUDA_CACHE_DISABLE", "0") not in {"", "0"}
    cards = {card.capability.replace(".", "") for one in facts for card in one.cards}
    arch = f"sm_{min(cards)}" if cards else "this card"
    who = f"{callers[0]} has" if callers else "A library has"
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=(
            f"{who} no machine code for {arch}: the driver compiled PTX for "
            f"{seconds_text(seconds)}."
        ),
        evidence=(
            f"{plural(programs, 'compilation')}, {plural(stores, 'store')} into the compute cache"
            + (", which CUDA_CACHE_DISABLE switches off" if disabled else ""),
            *((f"called from {', '.join(dict.fromkeys(callers))}",) if callers else ()),
        ),
        advice=(
            "coldsoak doctor",
            "unset CUDA_CACHE_DISABLE"
            if disabled
            else "export CUDA_CACHE_PATH=$HOME/.cache/cuda CUDA_CACHE_MAXSIZE=4294967296",
            fix(view, "cuda.compute_cache"),
        ),
        confidence="measured" if callers or programs else "likely",
        settle="" if callers else "No host sample fell into it: the caller is not known.",
        arm=arm,
        seconds=seconds,
    )
