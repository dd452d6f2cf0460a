"""The answer on a terminal or in a log file."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from coldsoak.report.bench_table import bench_sheets, cause_sheets
from coldsoak.report.breakeven_table import break_even_sheet
from coldsoak.report.findings import print_findings
from coldsoak.report.fix import fix_sheets
from coldsoak.report.hypotheses import (
    hypotheses_sheet,
    scaling_sheet,
    worst_hypotheses_sheet,
)
from coldsoak.report.layout import STACK_INDENT, fit
from coldsoak.report.ledger_table import breakdowns, ledger_sheet
from coldsoak.report.next_step import DEFAULT_RECIPE, Reading, next_step, shown_path
from coldsoak.report.remarks import counts_line, failures, notes, sources_line
from coldsoak.report.select import command_line, ended
from coldsoak.report.sentence import headline
from coldsoak.report.tables import imports_sheet, phases_sheet, processes_sheet, regions_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from coldsoak.model.result import Result, Summary
    from coldsoak.report.layout import Layout
    from coldsoak.report.sheet import Column, Sheet

__all__ = [
    "caption",
    "print_answer",
    "print_lines",
    "print_next",
    "print_sheet",
    "render",
    "sheets",
]

INDENT = 2

WIDEST_TABLE = 110
"""Columns that a table with elided texts takes at most."""


def render(result: Result, console: Console, reading: Reading | None = None) -> None:
    """Print the whole answer: a sentence, tables, remarks, and the next command to type."""
    reading = reading or Reading()
    print_answer(result, console, reading)
    print_next(result, console, reading)


def print_answer(result: Result, console: Console, reading: Reading) -> None:
    """Print the answer without what comes next."""
    print_lines(Text(headline(result), style="bold"), console)
    print_lines(Text(caption(result), style="dim"), console)
    print_findings(result, console, reading.reference)
    for sheet in sheets(result, reading):
        print_sheet(sheet, console)
    if result.kind != "fix" and ended(result):  # the table of a fix says how many pairs there were
        _print_counts(result, console)
    for text in notes(result):
        print_lines(Text(f"Note: {text}", style="yellow"), console)


def print_next(result: Result, console: Console, reading: Reading) -> None:
    """Print where the recipe is, if there is one, and the next command to type."""
    console.print()
    if result.recipe_file:
        file = shown_path(result.recipe_file)
        named = "" if file == DEFAULT_RECIPE else f" {shlex.quote(file)}"
        told = f" · coldsoak recipe{named} says what it does"
        console.print(Text.assemble(("Recipe: ", "dim"), file, (told, "dim")), soft_wrap=True)
    step = Text.assemble(("Next: ", "dim"), (next_step(result, reading), "bold cyan"))
    console.print(step, soft_wrap=True)


def sheets(result: Result, reading: Reading | None = None) -> Iterator[Sheet]:
    """Yield the tables of ``result`` in reading order."""
    if result.kind == "fix":
        reading = reading or Reading()
        yield from fix_sheets(result, reading.reference, everything=reading.everything)
        return
    if result.kind == "bench":
        yield from bench_sheets(result)
        extra = (worst_hypotheses_sheet(result), scaling_sheet(result))
        yield from (sheet for sheet in extra if sheet is not None)
        pays = break_even_sheet(result)
        if pays is not None:
            yield pays
        yield from cause_sheets(result)
        return
    for summary in result.summaries:
        yield from _run_sheets(result, summary)
        for table in breakdowns(result, summary):
            yield ledger_sheet(result, table)


def _run_sheets(result: Result, summary: Summary) -> Iterator[Sheet]:
    candidates = (
        regions_sheet(result, summary),
        hypotheses_sheet(result, summary),
        scaling_sheet(result),
        phases_sheet(result, summary),
        imports_sheet(result, summary.arm),
        processes_sheet(result, summary.arm),
    )
    yield from (sheet for sheet in candidates if sheet is not None)


def caption(result: Result) -> str:
    """Return what was measured, where, and how cold."""
    machine = result.machine
    gpus = [device.name for device in machine.devices if device.kind == "gpu"]
    place = ", ".join(filter(None, (machine.cpu, *dict.fromkeys(gpus))))
    cold = "+".join(result.options.cold)
    parts = [command_line(result.command), place, f"cold: {cold}"]
    return " · ".join(part for part in parts if part)


def print_sheet(sheet: Sheet, console: Console, *, first: bool = False) -> None:
    """Print one table with its title above and its remarks below; the ``first`` has no gap before it."""
    if not first:
        console.print()
    print_lines(Text(sheet.title, style="bold"), console)
    layout = fit(sheet, console.width - INDENT)
    lines = _lines(_table(layout, console), console, INDENT + STACK_INDENT * bool(layout.names))
    header = len(lines) - len(sheet.rows)  # with details or names each row is one line
    for number, line in enumerate(lines, start=-header):
        if layout.names and number >= 0:
            print_lines(Text(layout.names[number]), console, indent=INDENT)
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        detail = sheet.details[number] if sheet.details and number >= 0 else ""
        if detail:
            _print_detail(detail, console, whole=sheet.whole_details)
    for remark in sheet.remarks:
        print_lines(Text(remark, style="dim"), console, indent=INDENT)


def _print_detail(detail: str, console: Console, *, whole: bool) -> None:
    if whole:
        print_lines(Text(detail, style="dim"), console, indent=2 * INDENT)
        return
    text = Text(" " * 2 * INDENT + detail, style="dim")
    console.print(text, no_wrap=True, overflow="ellipsis")


def print_lines(
    text: Text, console: Console, *, indent: int = 0, width: int = 0, bullet: str = ""
) -> None:
    """Print ``text`` folded to ``width`` columns (0: the console's), without trailing spaces.

    A ``bullet`` stands in front of the first line, and the others begin where that one's text does.
    """
    lines = _lines(text, console, indent + len(bullet), width)
    if bullet:
        lines[0] = Text(" " * indent + bullet) + lines[0][indent + len(bullet) :]
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _lines(renderable: RenderableType, console: Console, indent: int, width: int = 0) -> list[Text]:
    """Render to lines without the spaces that fill them up: a log file is not a screen."""
    options = console.options.update(width=(width or console.width) - indent, highlight=False)
    lines = []
    for segments in console.render_lines(renderable, options, pad=False):
        line = Text(" " * indent)
        for segment in segments:
            line.append(segment.text, segment.style)
        line.rstrip()
        lines.append(line)
    return lines


def _table(layout: Layout, console: Console) -> Table:
    sheet = layout.sheet
    table = Table(
        box=None,
        show_header=any(column.title for column in sheet.columns),
        pad_edge=False,
        padding=(0, layout.gap, 0, 0),
        header_style="dim",
    )
    if any(column.elide for column in sheet.columns):
        table.width = min(console.width - INDENT, WIDEST_TABLE)
    widths = layout.widths or (None,) * len(sheet.columns)
    one_line = bool(sheet.details or layout.names)
    for column, width in zip(sheet.columns, widths, strict=True):
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=column.right or column.elide or one_line,
            overflow="ellipsis" if column.elide or one_line else "fold",
            ratio=1 if column.elide else None,
            width=width,
            vertical="top",
        )
    for number, row in enumerate(sheet.rows, start=1):
        style = "bold" if sheet.total and number == len(sheet.rows) else ""
        cells = [
            _cell(text, column, console) for text, column in zip(row, sheet.columns, strict=True)
        ]
        table.add_row(*cells, style=style)
    return table


def _cell(text: str, column: Column, console: Console) -> Text:
    if not column.graphic:
        return Text(text)
    drawn = text if console.encoding.lower().startswith("utf") else "#" * len(text)
    return Text(drawn, style="cyan")


def _print_counts(result: Result, console: Console) -> None:
    console.print()
    for line in _counts(result):
        print_lines(Text(line, style="dim"), console)
    for text, tail in failures(result):
        print_lines(Text(f"{text}.", style="red"), console)
        for line in tail:
            print_lines(Text(line, style="dim"), console, indent=2 * INDENT)


def _counts(result: Result) -> list[str]:
    """Return a line for each arm, or one for all arms that have the same to say."""
    said: dict[str, list[str]] = {}
    for summary in result.summaries:
        text = counts_line(result, summary)
        said.setdefault(text, []).append(summary.arm)
    names = {text: "" if len(said) == 1 else f"{', '.join(arms)}: " for text, arms in said.items()}
    if len(said) == 1 and len(result.summaries) > 1:
        names = dict.fromkeys(said, "Each row: ")
    sources = [sources_line(result, summary.arm) for summary in result.summaries]
    return [names[text] + text for text in said] + [line for line in dict.fromkeys(sources) if line]
