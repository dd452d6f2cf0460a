"""The table of ``bench``: one row per framework, compiler, device and shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from coldsoak.report.numbers import DASH, point, quantity, rate, time_unit
from coldsoak.report.select import arm_of, lead
from coldsoak.report.sheet import Column, Sheet, lift_constants
from coldsoak.report.tables import steady_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.model.result import Case, Result, SeriesSummary, Summary

__all__ = ["bench_sheets", "checksum_state"]

_LIFTED = {
    "framework": "{}",
    "compiler": "{}",
    "device": "{}",
    "shape": "size {}",
    "steady": "later runs {}",
    "check": "checksums: {}",
}
"""Columns that move into the title when all rows say the same, and how the title says it."""


def bench_sheets(result: Result) -> list[Sheet]:
    """Return a table for each workload of ``result``."""
    groups: dict[str, list[tuple[Case, Summary]]] = defaultdict(list)
    for summary in result.summaries:
        arm = arm_of(result, summary.arm)
        if arm is not None and arm.case is not None:
            groups[arm.case.workload].append((arm.case, summary))
    return [_sheet(result, workload, pairs) for workload, pairs in groups.items()]


def _sheet(result: Result, workload: str, pairs: list[tuple[Case, Summary]]) -> Sheet:
    found = [(case, summary, lead(result, summary)) for case, summary in pairs]
    series = [s for _, _, s in found if s]
    first = time_unit(s.first.point for s in series)
    later = time_unit(e.point for s in series if (e := s.steady or s.later))
    reached = time_unit(s.first_result.point for _, s in pairs if s.first_result)
    checks = checksum_state(result, pairs)
    rows = tuple(
        (
            case.framework,
            case.compiler or "eager",
            case.device,
            " × ".join(str(size) for size in dict.fromkeys(case.shape.values())) or DASH,
            point(s.first if s else None, first),
            point((s.steady or s.later) if s else None, later),
            point(s.overhead if s else None, first),
            point(summary.first_result, reached),
            _rate(case, s),
            steady_word(s) if s else DASH,
            checks.get(summary.arm, DASH),
        )
        for case, summary, s in found
    )
    columns = (
        Column("framework"),
        Column("compiler"),
        Column("device"),
        Column("shape", right=True),
        Column(f"run 0\n{first.symbol}", right=True),
        Column(f"later\n{later.symbol}", right=True),
        Column(f"overhead\n{first.symbol}", right=True),
        Column(f"start to\nresult {reached.symbol}", right=True),
        Column("rate\nFLOP/s", right=True),
        Column("steady"),
        Column("check"),
    )
    return _titled(workload, pairs[0][0], Sheet("", columns, rows, remarks=_spreads(found)))


def _titled(workload: str, case: Case, sheet: Sheet) -> Sheet:
    slim, said = lift_constants(sheet, _LIFTED)
    inner = f"{case.inner} a run" if case.inner > 1 else ""
    constant = [_LIFTED[title].format(text) for title, text in said.items() if text != DASH]
    facts = [workload, case.dtype, inner, *constant]
    return Sheet(" · ".join(filter(None, facts)), slim.columns, slim.rows, remarks=slim.remarks)


def _rate(case: Case, series: SeriesSummary | None) -> str:
    steady = (series.steady or series.later) if series else None
    if steady is None or not case.flops or not steady.point:
        return DASH
    return rate(case.flops / steady.point).removesuffix("FLOP/s").strip()


def _spreads(found: Iterable[tuple[Case, Summary, SeriesSummary | None]]) -> tuple[str, ...]:
    """Name the least certain run 0, in place of an interval for each row."""
    known = [
        ((s.first.high - s.first.low) / 2 / s.first.point, case, s.first)
        for case, _, s in found
        if s and s.first.low is not None and s.first.high is not None and s.first.point
    ]
    if not known:
        return ()
    width, case, first = max(known, key=lambda item: item[0])
    name = " ".join(filter(None, (case.framework, case.compiler)))
    return (
        f"Least certain run 0: {name} on {case.device}, {quantity(first)} ± {100 * width:.0f} %.",
    )


_FAULTS = {"checksum_differs": "DIFFERS", "other_device": "elsewhere"}


def checksum_state(result: Result, pairs: list[tuple[Case, Summary]]) -> dict[str, str]:
    """Return by arm what the comparison of outputs said; the notes have the details."""
    said = {
        summary.arm: _FAULTS[note.code]
        for note in result.notes
        if note.code in _FAULTS
        for _, summary in pairs
        if note.text.startswith(f"{summary.arm}: ")
    }
    sizes = Counter(_computed(case) for case, _ in pairs)
    return {
        summary.arm: said.get(summary.arm, "agrees" if sizes[_computed(case)] > 1 else "alone")
        for case, summary in pairs
    }


def _computed(case: Case) -> tuple[object, ...]:
    return (case.dtype, *sorted(case.shape.items()))
