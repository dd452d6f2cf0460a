"""The list of stored results."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from coldsoak.model.result import Result
from coldsoak.report.numbers import quantity
from coldsoak.report.select import command_line, lead
from coldsoak.report.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Row", "listing_sheet", "unreadable_row"]

COMMAND = 80
"""Characters of a command that a row keeps."""

Row = tuple[str, str, str, str]


def listing_sheet(results: Sequence[Result | Row], folder: str, total: int) -> Sheet:
    """Return a row for each result: id, launches, run 0 of the lead region, command."""
    rows = tuple(row(item) if isinstance(item, Result) else item for item in results)
    columns = (
        Column("id"),
        Column("launches", right=True),
        Column("run 0", right=True),
        Column("command", name=True),
    )
    hidden = total - len(rows)
    remarks = (f"{hidden} older ones are not listed: --limit {total}",) if hidden > 0 else ()
    return Sheet(f"Results in {folder}", columns, rows, remarks=remarks)


def row(result: Result) -> Row:
    """Return the row of one result."""
    summary = next((s for s in result.summaries if s.n), None)
    main = lead(result, summary) if summary else None
    launches = sum(s.n for s in result.summaries)
    first = quantity(main.first) if main else quantity(summary.wall if summary else None)
    typed = tuple(PurePath(word).name for word in result.command[:1]) + result.command[1:]
    command = ("fix", *typed) if result.kind == "fix" else typed
    return result.id, str(launches), first, _fate(result) + command_line(command, COMMAND)


def _fate(result: Result) -> str:
    """Say how a session ended that was not finished."""
    if result.complete:
        return ""
    ends = {summary.stopped_by for summary in result.summaries}
    if not ends:
        return "killed: "
    return "interrupted: " if "interrupted" in ends else "failed: "


def unreadable_row(identifier: str, why: str) -> Row:
    """Return the row of a result that could not be read."""
    return identifier, "–", "–", why
