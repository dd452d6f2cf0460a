"""The answer as Markdown: for an issue, a pull request, a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.report.console import caption, sheets
from coldsoak.report.findings import finding_blocks
from coldsoak.report.remarks import counts_line, failures, notes, sources_line
from coldsoak.report.select import ended
from coldsoak.report.sentence import headline

if TYPE_CHECKING:
    from coldsoak.model.result import Result
    from coldsoak.report.next_step import Reading
    from coldsoak.report.sheet import Sheet

__all__ = ["markdown"]


def markdown(result: Result, reading: Reading | None = None) -> str:
    """Return the answer to ``result`` as GitHub-flavoured Markdown."""
    blocks = [f"**{headline(result)}**", caption(result)]
    blocks += finding_blocks(result.findings)
    blocks += [_table(sheet) for sheet in sheets(result, reading)]
    if result.kind != "fix" and ended(result):  # the table of a fix says how many pairs there were
        blocks += _counts(result)
    blocks += [f"Note: {text}" for text in notes(result)]
    return "\n\n".join(block for block in dict.fromkeys(blocks) if block) + "\n"


def _counts(result: Result) -> list[str]:
    blocks = []
    for summary in result.summaries:
        blocks.append(counts_line(result, summary))
        blocks.append(sources_line(result, summary.arm))
    for text, tail in failures(result):
        blocks.append(f"{text}.\n\n```\n" + "\n".join(tail) + "\n```")
    return blocks


def _table(sheet: Sheet) -> str:
    keep = [i for i, column in enumerate(sheet.columns) if not column.graphic]
    titles = [sheet.columns[i].title.replace("\n", " ") for i in keep]
    rules = ["--:" if sheet.columns[i].right else "---" for i in keep]
    rows = [[row[i] for i in keep] for row in sheet.rows]
    if sheet.details:
        titles, rules = [*titles, "evidence"], [*rules, "---"]
        rows = [[*row, detail] for row, detail in zip(rows, sheet.details, strict=True)]
    lines = [_line(cells) for cells in (titles, rules, *rows)]
    return "\n".join([f"### {sheet.title}", "", *lines, *(f"\n{text}" for text in sheet.remarks)])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
