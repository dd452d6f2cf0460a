"""The table of ``bench``: one row per framework, mode, device and shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from coldsoak.report.ledger_table import breakdowns
from coldsoak.report.numbers import (
    DASH,
    TIMES,
    decimals,
    percent,
    point,
    quantity,
    rate,
    show,
    time_unit,
)
from coldsoak.report.select import arm_of, bare, by_order, case_words, series_by_id
from coldsoak.report.sheet import Column, Sheet, joined, lift_constants
from coldsoak.report.tables import steady_word

if TYPE_CHECKING:
    from coldsoak.model.result import Case, Result, SeriesSummary, Summary
    from coldsoak.report.ledger_table import Breakdown
    from coldsoak.report.numbers import Unit

__all__ = ["bench_sheets", "cause_sheets", "checksum_state"]

_LIFTED = {
    "framework": "{}",
    "mode": "{}",
    "device": "{}",
    "shape": "size {}",
    "steady": "later runs {}",
    "check": "output {}",
}
"""Columns that move into the title when all rows say the same, and how the title says it."""

_CONSTANTS = ("framework", "mode", "device", "shape")
_CASE_COLUMNS = (
    Column("framework"),
    Column("mode"),
    Column("device"),
    Column("shape", right=True),
)


def bench_sheets(result: Result) -> list[Sheet]:
    """Return a table for each workload of ``result``."""
    groups: dict[str, list[tuple[Case, Summary]]] = defaultdict(list)
    for summary in result.summaries:
        arm = arm_of(result, summary.arm)
        if arm is not None and arm.case is not None:
            groups[arm.case.workload].append((arm.case, summary))
    return [_sheet(result, workload, pairs) for workload, pairs in groups.items()]


class _Row(NamedTuple):
    case: Case
    summary: Summary
    series: SeriesSummary | None
    shape: str
    first_of_arm: bool


def _rows(result: Result, pairs: list[tuple[Case, Summary]]) -> list[_Row]:
    """Return a row for each series: several when one process ran all shapes (``--warm-shapes``)."""
    known = series_by_id(result)
    made = []
    for case, summary in pairs:
        ordered = by_order(result, summary)
        *_, shape = case_words(case)
        for place, series in enumerate(ordered or [None]):
            own = known.get(series.series) if series else None
            name = shape if case.shape or own is None else bare(own.case.get("shape", shape))
            made.append(_Row(case, summary, series, name, place == 0))
    return made


def _sheet(result: Result, workload: str, pairs: list[tuple[Case, Summary]]) -> Sheet:
    found = _rows(result, pairs)
    series = [row.series for row in found if row.series]
    first = time_unit(s.first.point for s in series)
    later = time_unit(e.point for s in series if (e := s.steady or s.later))
    reached = time_unit(s.first_result.point for _, s in pairs if s.first_result)
    checks = checksum_state(result, pairs)
    rows = tuple(
        (
            *case_words(row.case)[:3],
            row.shape,
            *_figures(row, first, later),
            point(row.summary.first_result, reached) if row.first_of_arm else "",
            _rate(row.case, row.series),
            steady_word(row.series) if row.series else DASH,
            checks.get(row.summary.arm, DASH),
        )
        for row in found
    )
    columns = (
        *_CASE_COLUMNS,
        Column(f"run 0\n{first.symbol}", right=True),
        Column(f"later\n{later.symbol}", right=True),
        Column(f"overhead\n{first.symbol}", right=True),
        Column(f"result\nafter {reached.symbol}", right=True),
        Column("rate\nFLOP/s", right=True),
        Column("steady"),
        Column("check"),
    )
    return _titled(workload, pairs[0][0], Sheet("", columns, rows, remarks=_spreads(found)))


def _figures(row: _Row, first: Unit, later: Unit) -> tuple[str, str, str]:
    s = row.series
    if s is None:
        return DASH, DASH, DASH
    return point(s.first, first), point(s.steady or s.later, later), point(s.overhead, first)


def cause_sheets(result: Result) -> list[Sheet]:
    """Return where run 0 and the time to the first result go: a row for each arm, causes below it."""
    tables = [table for summary in result.summaries for table in breakdowns(result, summary)]
    titles = {
        "region": "Where run 0 goes",
        "first result": "Where the time to the first result goes",
    }
    sheets = []
    for scope, title in titles.items():
        mine = [table for table in tables if table.scope == scope]
        if mine:
            sheets.append(_causes(result, title, mine))
    return sheets


def _causes(result: Result, title: str, tables: list[Breakdown]) -> Sheet:
    unit = time_unit(table.seconds for table in tables)
    named = [(table, arm.case) for table in tables if (arm := arm_of(result, table.arm))]
    rows = tuple(
        (
            *case_words(case),
            show(table.seconds / unit.scale, max(decimals(table.seconds / unit.scale, 0.0), 0)),
            percent(table.parts[-1].share),
            DASH if table.looking is None else f"{table.looking:.2f}{TIMES}",
        )
        for table, case in named
        if case
    )
    details = tuple(_largest(table) for table, case in named if case)
    columns = (
        *_CASE_COLUMNS,
        Column(unit.symbol, right=True),
        Column("unattributed", right=True),
        Column("looking", right=True),
    )
    sheet, said = lift_constants(Sheet("", columns, rows, details), _CONSTANTS)
    facts = [_LIFTED[name].format(text) for name, text in said.items() if text != DASH]
    return replace(sheet, title=" · ".join([title, *facts]))


def _largest(table: Breakdown) -> str:
    """Name the causes with the most seconds, in one line."""
    ranked = sorted(table.parts[:-1], key=lambda part: -part.seconds)
    return joined((part.name, round(part.seconds * 1e9)) for part in ranked if part.share >= 0.01)


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


def _spreads(found: list[_Row]) -> tuple[str, ...]:
    """Name the least certain run 0, in place of an interval for each row."""
    known = [
        ((s.first.high - s.first.low) / 2 / s.first.point, case, s.first)
        for case, _, s, *_ in found
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
