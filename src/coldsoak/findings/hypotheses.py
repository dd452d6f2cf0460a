"""The usual explanations of a slow first run, each confirmed or refuted with its seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from coldsoak.findings.words import source_text
from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.findings.view import View
    from coldsoak.model.ledger import Ledger

__all__ = ["CONFIRMED", "HYPOTHESES", "REFUTED", "Hypothesis", "Judgement", "judge_hypotheses"]

CONFIRMED = 0.10
"""Share of the cold overhead from which an explanation counts as confirmed."""
REFUTED = 0.01
"""Share below which it is refuted: taking it away would not be noticed."""
LOOKING_LIMIT = 1.3
"""Traced over timed time beyond which traced shares say nothing about timed runs."""

HYPOTHESES: dict[str, tuple[Cause, ...]] = {
    "data movement": (Cause.HOST_TO_DEVICE, Cause.DEVICE_TO_HOST),
    "context and driver": (Cause.DRIVER_INIT, Cause.CONTEXT_CREATE),
    "library start": (Cause.LIBRARY_HANDLE, Cause.PLAN_BUILD),
    "code loading": (Cause.MODULE_LOAD, Cause.LAZY_KERNEL_LOAD),
    "compiling": (Cause.TRACE, Cause.COMPILE, Cause.CACHE_LOOKUP, Cause.PTX_JIT),
    "algorithm search": (Cause.ALGORITHM_SEARCH,),
    "memory": (Cause.DEVICE_ALLOC, Cause.POOL_RESERVE, Cause.PINNED_ALLOC, Cause.PAGE_FAULT),
    "imports": (
        Cause.IMPORT_PYTHON,
        Cause.IMPORT_BYTECODE_COMPILE,
        Cause.LIBRARY_LOAD,
        Cause.PAGE_IN,
    ),
}
"""What people suspect, and the causes of the ledger that it stands for."""

_OF_THE_CARD = {
    *("data movement", "context and driver", "library start", "code loading"),
    *("algorithm search",),
}
"""Explanations that only CUPTI could refute on a machine with a card."""

_COMPILER = re.compile(r"(^|/)(ptxas|nvlink|nvcc|cicc|fatbinary|gcc|g\+\+|cc1plus|clang(\+\+)?)\b")

Verdict = Literal["confirmed", "minor", "refuted", "not seen"]


@dataclass(frozen=True)
class Hypothesis:
    """One explanation of the cold part of a stretch."""

    name: str
    verdict: Verdict
    seconds: float
    share: float
    """Of the cold overhead, 0 to 1."""
    evidence: str = ""
    """The largest single item, or why it could not be seen."""


@dataclass(frozen=True)
class Judgement:
    """All explanations of one stretch."""

    scope: str
    series: str
    overhead: float
    """Seconds that are paid once: what the shares are of."""
    hypotheses: tuple[Hypothesis, ...]
    other: tuple[tuple[str, float], ...]
    """Causes that no explanation covers, with their seconds, largest first."""

    @property
    def main(self) -> Hypothesis | None:
        """The explanation with the largest share, when it is confirmed."""
        best = max(self.hypotheses, key=lambda h: h.share)
        return best if best.verdict == "confirmed" else None

    def named(self, name: str) -> Hypothesis:
        """Return the explanation called ``name``."""
        return next(h for h in self.hypotheses if h.name == name)


def judge_hypotheses(
    view: View, arm: str, scope: Literal["region", "first result"], series: str = ""
) -> Judgement | None:
    """Judge every explanation of a stretch; None when no traced launch has a ledger of it."""
    ledgers = view.ledgers(arm, scope, series)
    if not ledgers:
        return None
    overhead = _overhead(view, arm, scope, ledgers)
    if overhead <= 0:
        return None
    shares = _shares(ledgers)
    blind = _blind(view, arm)
    hypotheses = tuple(
        _judge(name, sum(shares.get(cause, 0.0) for cause in causes), overhead, ledgers, blind)
        for name, causes in HYPOTHESES.items()
    )
    covered = {cause for causes in HYPOTHESES.values() for cause in causes}
    other = sorted(
        ((str(c), s * overhead) for c, s in shares.items() if c not in covered and s > 0),
        key=lambda pair: -pair[1],
    )
    return Judgement(scope, ledgers[0].series, overhead, hypotheses, tuple(other))


def _judge(
    name: str, share: float, overhead: float, ledgers: Sequence[Ledger], blind: str
) -> Hypothesis:
    verdict: Verdict = "minor"
    if share >= CONFIRMED:
        verdict = "confirmed"
    elif name in _OF_THE_CARD and blind:
        return Hypothesis(name, "not seen", share * overhead, share, blind)
    elif share < REFUTED:
        verdict = "refuted"
    return Hypothesis(name, verdict, share * overhead, share, _largest(name, ledgers))


def _blind(view: View, arm: str) -> str:
    """Return why the card could not be watched; empty when it was, or when there is none."""
    if not view.gpus:
        return ""
    cupti = view.sources(arm).get("cupti")
    if cupti is None:
        return "CUPTI was off"
    if cupti.state == "lost":
        return f"CUPTI {source_text(cupti)}"
    return "" if cupti.state == "on" else f"CUPTI was off: {cupti.reason}"


def _cold(ledger: Ledger) -> dict[Cause, float]:
    """Return cold nanoseconds by cause; waiting for a compiler's process counts as compiling."""
    cold = {line.cause: line.cold_ns for line in ledger.lines}
    for line in ledger.lines:
        if line.cause is Cause.CHILD_PROCESS:
            items = line.evidence.items
            own = sum(item.ns for item in items if _COMPILER.search(item.label))
            part = line.cold_ns * own / max(sum(item.ns for item in items), 1)
            cold[Cause.CHILD_PROCESS] -= part
            cold[Cause.COMPILE] = cold.get(Cause.COMPILE, 0.0) + part
    return cold


def _shares(ledgers: Sequence[Ledger]) -> dict[Cause, float]:
    """Return the median share of the overhead by cause."""
    rows = []
    for ledger in ledgers:
        cold = _cold(ledger)
        total = sum(cold.values())
        if total > 0:
            rows.append({cause: ns / total for cause, ns in cold.items()})
    causes = {cause for row in rows for cause in row}
    return {cause: median(row.get(cause, 0.0) for row in rows) for cause in causes}


def _overhead(view: View, arm: str, scope: str, ledgers: Sequence[Ledger]) -> float:
    """Return the cold seconds: timed ones where looking did not change them much."""
    traced = median(sum(_cold(ledger).values()) for ledger in ledgers) / 1e9
    timed = None
    if scope == "region":
        summary = view.summary(arm, ledgers[0].series)
        if summary is not None:
            estimate = summary.overhead or (None if summary.later else summary.first)
            timed = estimate.point if estimate else None
    else:
        found = next((s for s in view.result.summaries if s.arm == arm), None)
        timed = found.first_result.point if found and found.first_result else None
    if timed is None or timed <= 0:
        return traced
    return timed if traced < LOOKING_LIMIT * timed else traced


def _largest(name: str, ledgers: Sequence[Ledger]) -> str:
    """Return the label of the largest single item among the causes of an explanation."""
    items = [
        item
        for ledger in ledgers
        for line in ledger.lines
        if line.cold_ns > 0
        for item in line.evidence.items
        if line.cause in HYPOTHESES[name] or (name == "compiling" and _COMPILER.search(item.label))
    ]
    return max(items, key=lambda item: item.ns).label if items else ""
