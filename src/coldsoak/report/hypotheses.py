"""The explanations as a table and as words for the sentence, and the law of sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coldsoak.findings.hypotheses import HYPOTHESES, judge_hypotheses
from coldsoak.findings.scaling import laws
from coldsoak.findings.view import View
from coldsoak.report.numbers import DASH, duration, percent, quantity, show, sum_scale
from coldsoak.report.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.findings.hypotheses import Hypothesis, Judgement
    from coldsoak.findings.scaling import Law
    from coldsoak.model.estimate import Estimate
    from coldsoak.model.result import Result, Summary

__all__ = ["hypotheses_sheet", "main_cause", "scaling_sheet", "worst_hypotheses_sheet"]

_DOING = {
    "data movement": "moving data",
    "context and driver": "starting the driver",
    "library start": "starting libraries",
    "code loading": "loading device code",
    "compiling": "compiling",
    "algorithm search": "searching for the fastest kernel",
    "memory": "getting memory ready",
    "imports": "importing",
}


def _judged(result: Result, summary: Summary) -> list[Judgement]:
    view = View(result)
    lead = view.lead(summary)
    region = judge_hypotheses(view, summary.arm, "region", lead.series) if lead else None
    whole = judge_hypotheses(view, summary.arm, "first result")
    return [found for found in (region, whole) if found is not None]


def hypotheses_sheet(result: Result, summary: Summary) -> Sheet | None:
    """Return the explanations of run 0 and of the way to the first result, or None."""
    judged = _judged(result, summary)
    if not judged:
        return None
    columns = [Column("explanation")]
    for one in judged:
        unit, _ = sum_scale(one.overhead)
        goal = "run 0" if one.scope == "region" else "first result"
        columns += [Column(f"{goal}\n{unit.symbol}", right=True), Column("share", right=True)]
        columns.append(Column(""))
    rows = [
        (name, *(cell for one in judged for cell in _cells(one, one.named(name))))
        for name in HYPOTHESES
    ]
    rest = _rest(judged)
    stretches = [
        f"{duration(one.overhead)} "
        + ("of run 0 paid once" if one.scope == "region" else "to the first result")
        for one in judged
    ]
    return Sheet(
        f"Which explanation holds · {', '.join(stretches)}",
        tuple(columns),
        tuple(rows),
        remarks=(rest,) if rest else (),
    )


def worst_hypotheses_sheet(result: Result) -> Sheet | None:
    """Return the explanations of the arm whose lead region pays most, named in the title."""
    view = View(result)

    def paid(summary: Summary) -> float:
        lead = view.lead(summary)
        return (lead.overhead or lead.first).point if lead else 0.0

    worst = max((s for s in result.summaries if s.n), key=paid, default=None)
    sheet = hypotheses_sheet(result, worst) if worst else None
    if sheet is None or worst is None or len(result.summaries) == 1:
        return sheet
    return replace(sheet, title=f"{sheet.title} · {worst.arm}")


def _cells(judged: Judgement, found: Hypothesis) -> tuple[str, str, str]:
    if found.verdict == "not seen":
        return DASH, DASH, found.verdict
    unit, digits = sum_scale(judged.overhead)
    seconds = max(found.seconds, 0.0)
    return show(seconds / unit.scale, digits), percent(max(found.share, 0.0)), found.verdict


def _rest(judged: Sequence[Judgement]) -> str:
    """Name what none of the explanations covers, where it is worth it."""
    worth = [
        (name, seconds)
        for name, seconds in judged[0].other
        if seconds >= 0.05 * judged[0].overhead and name != "unattributed"
    ]
    blind = next((h for one in judged for h in one.hypotheses if h.verdict == "not seen"), None)
    parts = [f"Besides: {', '.join(f'{n} {duration(s)}' for n, s in worth)}."] if worth else []
    if blind is not None:
        parts.append(f"Not seen: {blind.evidence}.")
    return " ".join(parts)


def main_cause(result: Result, summary: Summary) -> str:
    """Return ``61 % of it loading device code; data movement is refuted (0.1 ms)``; or nothing."""
    view = View(result)
    lead = view.lead(summary)
    judged = judge_hypotheses(view, summary.arm, "region", lead.series) if lead else None
    if judged is None:
        return ""
    main = judged.main
    largest_other = next((pair for pair in judged.other if pair[0] != "unattributed"), None)
    if main is None or (largest_other and largest_other[1] > main.seconds):
        text = _other_words(judged)
    else:
        text = f"{percent(main.share)} of it {_DOING[main.name]}"
    moved = judged.named("data movement")
    if view.gpus and moved.verdict == "refuted":
        told = duration(max(moved.seconds, 0.0)) if moved.seconds > 0 else "none took place"
        text += f"; data movement is refuted ({told})"
    return text.removeprefix("; ")


def _other_words(judged: Judgement) -> str:
    named = [pair for pair in judged.other if pair[0] != "unattributed"]
    if not named or named[0][1] < 0.1 * judged.overhead:
        return ""
    name, seconds = named[0]
    return f"{percent(seconds / judged.overhead)} of it {name.replace('_', ' ')}"


def scaling_sheet(result: Result) -> Sheet | None:
    """Return how the cold overhead grows with the size, a row for each way to compute."""
    found = list(laws(View(result)))
    if not found:
        return None
    rows = tuple(_law(law) for law in found)
    columns = (
        Column(""),
        Column("constant", right=True),
        Column("data (N²)", right=True),
        Column("arithmetic (N³)", right=True),
    )
    sizes = ", ".join(dict.fromkeys(f"{max(law.scaling.sizes):,.0f}" for law in found))
    details = tuple(law.words for law in found)
    remark = "Least squares in each round of launches, medians over the rounds, intervals below."
    intervals = tuple(_intervals(law) for law in found if law.scaling.constant.low is not None)
    return Sheet(
        f"How the cold overhead grows: its parts at N = {sizes}",
        columns,
        rows,
        details=details,
        remarks=(remark, *intervals) if intervals else (),
    )


def _law(law: Law) -> tuple[str, ...]:
    return law.name, *(duration(part) for part in law.scaling.parts(max(law.scaling.sizes)))


def _intervals(law: Law) -> str:
    size = max(law.scaling.sizes)
    terms = (
        ("constant", law.scaling.constant, 1.0),
        ("N²", law.scaling.per_byte, size**2),
        ("N³", law.scaling.per_flop, size**3),
    )
    return f"{law.name}: " + ", ".join(f"{name} {_range(e, factor)}" for name, e, factor in terms)


def _range(estimate: Estimate, factor: float) -> str:
    if estimate.low is None or estimate.high is None:
        return quantity(estimate)
    return f"{duration(estimate.low * factor)} … {duration(estimate.high * factor)}"
