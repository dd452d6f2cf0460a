"""The ledger as a table: the traced launches put together, causes with their evidence."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.model.ledger import Evidence, Item, Ledger
from coldsoak.report.numbers import DASH, byte_size, duration, percent, show, sum_scale
from coldsoak.report.select import goal, lead, spoken
from coldsoak.report.sheet import Column, Sheet, bar, joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.model.result import Result, Summary

__all__ = ["Breakdown", "Part", "breakdown", "breakdowns", "evidence_line", "ledger_sheet"]

LOOKING_LIMIT = 1.3
"""Cost of looking from which traced shares are no longer applied to the timed median."""

WORTH_A_ROW = 0.01
MOST_ROWS = 12

DATA_MOVEMENT = {str(Cause.HOST_TO_DEVICE), str(Cause.DEVICE_TO_HOST)}
"""The usual suspects: they keep a row of their own however small they are."""


@dataclass(frozen=True)
class Part:
    """One cause over the traced launches, in seconds of the reference time."""

    name: str
    seconds: float
    share: float
    low: float | None = None
    high: float | None = None
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True)
class Breakdown:
    """The ledgers of one stretch over the traced launches; the parts add up to ``seconds``."""

    scope: str
    arm: str
    series: str
    launches: int
    seconds: float
    """The timed median when ``scaled``, else the traced median without the tool's own time."""
    scaled: bool
    looking: float | None
    """Traced median, the tool's own time included, over the timed median; None without timed launches."""
    admitted: float
    """Median of the tool's own time, which is in no part, in seconds."""
    parts: tuple[Part, ...]


STEADY = "steady work"
"""Name of the part that each later run pays as well."""


def _split(ledger: Ledger) -> dict[str, float]:
    """Return cold nanoseconds by cause, with what later runs pay too as one entry; adds up."""
    parts = {str(line.cause): line.cold_ns for line in ledger.lines}
    if ledger.steady_runs:
        parts[STEADY] = sum(line.steady_ns for line in ledger.lines)
    return parts


def breakdown(ledgers: Sequence[Ledger], timed_s: float | None) -> Breakdown:
    """Put the ledgers of one stretch from several launches together.

    Shares are medians over launches of the share of each launch, then divided by their sum, so
    that the parts add up exactly.

    Args:
        ledgers: At least one; of one scope, arm and series.
        timed_s: Timed median of the same stretch in seconds, or None when it was not timed.

    """
    nets = [max(ledger.total_ns - ledger.measurement_ns, 1) for ledger in ledgers]
    traced = statistics.median(ledger.total_ns for ledger in ledgers) / 1e9
    looking = traced / timed_s if timed_s else None
    scaled = looking is not None and looking < LOOKING_LIMIT
    seconds = timed_s if scaled and timed_s else statistics.median(nets) / 1e9
    splits = [_split(ledger) for ledger in ledgers]
    shares = _shares(splits, nets)
    total = sum(statistics.median(values) for values in shares.values()) or 1.0
    evidence = _evidence(ledgers)
    parts = tuple(
        Part(
            name=name,
            seconds=statistics.median(values) / total * seconds,
            share=statistics.median(values) / total,
            low=min(values) / total * seconds,
            high=max(values) / total * seconds,
            evidence=evidence.get(name, Evidence()),
        )
        for name, values in shares.items()
    )
    first = ledgers[0]
    return Breakdown(
        scope=first.scope,
        arm=first.arm,
        series=first.series,
        launches=len(ledgers),
        seconds=seconds,
        scaled=scaled,
        looking=looking,
        admitted=statistics.median(ledger.measurement_ns for ledger in ledgers) / 1e9,
        parts=_in_order(parts),
    )


def _shares(splits: Sequence[Mapping[str, float]], nets: Sequence[int]) -> dict[str, list[float]]:
    names = dict.fromkeys(name for split in splits for name in split)
    return {
        name: [split.get(name, 0.0) / net for split, net in zip(splits, nets, strict=True)]
        for name in names
    }


def _evidence(ledgers: Sequence[Ledger]) -> dict[str, Evidence]:
    """Return the evidence of the launch whose total is the median one."""
    typical = sorted(ledgers, key=lambda ledger: ledger.total_ns)[(len(ledgers) - 1) // 2]
    return {str(line.cause): line.evidence for line in typical.lines}


def _in_order(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    last = {STEADY: 1, str(Cause.UNATTRIBUTED): 2}
    return tuple(sorted(parts, key=lambda part: (last.get(part.name, 0), -part.seconds)))


def breakdowns(result: Result, summary: Summary) -> list[Breakdown]:
    """Return the breakdowns of one arm: the lead region, then the way to the first result."""
    counted = {
        launch.index for launch in result.launches if launch.round > 0 and not launch.invalid
    }
    groups: dict[tuple[str, str], list[Ledger]] = defaultdict(list)
    for ledger in result.ledgers:
        if ledger.arm == summary.arm and ledger.launch in counted:
            groups[ledger.scope, ledger.series].append(ledger)
    main = lead(result, summary)
    made = [
        breakdown(ledgers, _timed(summary, scope, series))
        for (scope, series), ledgers in groups.items()
    ]
    wanted = [b for b in made if b.scope == "region" and main and b.series == main.series]
    whole = [b for b in made if b.scope == "first result"] or [
        b for b in made if b.scope == "launch"
    ]
    return wanted + whole[:1]


def _timed(summary: Summary, scope: str, series: str) -> float | None:
    estimate = summary.first_result if scope == "first result" else summary.wall
    if scope == "region":
        found = next((s for s in summary.series if s.series == series), None)
        estimate = found.first if found else None
    return estimate.point if estimate else None


def ledger_sheet(result: Result, table: Breakdown) -> Sheet:
    """Return ``table`` as rows with one line of evidence under each."""
    parts = _fold(table.parts)
    unit, digits = sum_scale(table.seconds)
    several = table.launches > 1
    rows = [_row(part, unit.scale, digits, several=several) for part in parts]
    whole = show(table.seconds / unit.scale, digits)
    rows.append((_whole_name(result, table), whole, *([""] if several else []), "100 %", ""))
    columns = (
        Column("cause"),
        Column(unit.symbol, right=True),
        *((Column("range", right=True),) if several else ()),
        Column("share", right=True),
        Column("", graphic=True),
    )
    details = (*(evidence_line(part.evidence) for part in parts), "")
    return Sheet(
        _title(result, table),
        columns,
        tuple(rows),
        details=details,
        remarks=_looking(table),
        total=True,
    )


def _row(part: Part, scale: float, digits: int, *, several: bool) -> tuple[str, ...]:
    spread = DASH
    if part.low is not None and part.high is not None:
        spread = f"{show(part.low / scale, digits)} … {show(part.high / scale, digits)}"
    return (
        part.name,
        show(part.seconds / scale, digits),
        *([spread] if several else []),
        percent(part.share),
        bar(part.share, 20),
    )


def _fold(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Join causes too small for a row of their own; the rest and the steady work always stay."""
    last = [p for p in parts if p.name in {STEADY, str(Cause.UNATTRIBUTED)}]
    ranked = [p for p in parts if p not in last]
    large = [p for p in ranked if abs(p.share) >= WORTH_A_ROW][:MOST_ROWS]
    large += [p for p in ranked if p.name in DATA_MOVEMENT and p not in large]
    small = [p for p in ranked if p not in large]
    if len(small) < 2:
        return parts
    rest = Part(
        name=f"{len(small)} smaller causes",
        seconds=sum(p.seconds for p in small),
        share=sum(p.share for p in small),
        evidence=Evidence(
            items=tuple(Item(label=p.name, ns=round(p.seconds * 1e9)) for p in small)
        ),
    )
    return (*large, rest, *last)


def _whole_name(result: Result, table: Breakdown) -> str:
    return {"region": "run 0", "first result": "time to first result"}.get(
        table.scope, f"start to {goal(result)}"
    )


def _title(result: Result, table: Breakdown) -> str:
    traced = "1 traced launch" if table.launches == 1 else f"{table.launches} traced launches"
    if table.scope == "region":
        name = spoken(result, table.series)
        return f"Where run 0 of {name} goes · {traced}"
    end = "the first result" if table.scope == "first result" else goal(result)
    return f"Where the time to {end} goes · {traced}"


def _looking(table: Breakdown) -> tuple[str, ...]:
    own = f"The tool's own {duration(table.admitted)} are taken out" if table.admitted else ""
    if table.looking is None:
        cost = "No timed launch to compare with: these are times under observation"
    else:
        cost = f"Cost of looking: {table.looking:.2f}×"
        cost += (
            ", shares applied to the timed median"
            if table.scaled
            else f", so these are traced times and not the timed ones (limit {LOOKING_LIMIT}×)"
        )
    return (". ".join(part for part in (cost, own) if part) + ".",)


def evidence_line(evidence: Evidence) -> str:
    """Return the evidence in one line: how often, how many bytes, the largest single items."""
    head = []
    if evidence.count > 1:
        head.append(f"{evidence.count:,} {'samples' if evidence.sampled else 'events'}")
    if evidence.bytes:
        head.append(byte_size(evidence.bytes))
    line = joined(((item.label, item.ns) for item in evidence.items), ", ".join(head))
    return line or ", ".join(evidence.sources)
