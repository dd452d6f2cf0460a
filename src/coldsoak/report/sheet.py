"""A table as data: what the console, Markdown and the tests all read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coldsoak.report.numbers import duration

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Column", "Sheet", "bar", "drop_empty", "joined", "lift_constants", "only"]

LINE = 72
"""Characters of a detail line, so that it fits 80 columns with its indent."""


@dataclass(frozen=True)
class Column:
    """A column of finished text; numbers stand right."""

    title: str
    right: bool = False
    elide: bool = False
    """Cut what does not fit with an ellipsis instead of folding it."""
    name: bool = False
    """Of names, which may lose their middle; other texts are folded between words."""
    graphic: bool = False
    """A bar that repeats a figure; text reports leave it out."""


@dataclass(frozen=True)
class Sheet:
    """Rows of finished text under a title, with remarks below."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    details: tuple[str, ...] = ()
    """A text under each row, or empty texts; none at all when the tuple is empty."""
    remarks: tuple[str, ...] = ()
    total: bool = False
    """The last row is the sum of the others."""
    whole_details: bool = False
    """Details are folded to be read whole; else they are one line each, cut to the width."""


def lift_constants(sheet: Sheet, titles: Iterable[str]) -> tuple[Sheet, dict[str, str]]:
    """Take out the columns among ``titles`` that say the same in each row; return what they said."""
    said: dict[int, str] = {}
    for index, column in enumerate(sheet.columns):
        values = {row[index] for row in sheet.rows}
        if column.title in titles and len(values) == 1:
            said[index] = values.pop()
    keep = [index for index in range(len(sheet.columns)) if index not in said]
    slim = only(sheet, keep)
    return slim, {sheet.columns[index].title: text for index, text in said.items()}


def drop_empty(sheet: Sheet, nothing: str) -> Sheet:
    """Take out the columns that say ``nothing`` in every row."""
    keep = [
        index
        for index in range(len(sheet.columns))
        if not sheet.rows or any(row[index] != nothing for row in sheet.rows)
    ]
    return only(sheet, keep)


def only(sheet: Sheet, keep: list[int]) -> Sheet:
    """Return the sheet with the columns at the places in ``keep``."""
    return replace(
        sheet,
        columns=tuple(sheet.columns[i] for i in keep),
        rows=tuple(tuple(row[i] for i in keep) for row in sheet.rows),
    )


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 12) -> str:
    """Return ``share`` (0 to 1) as a bar of ``width`` characters at most; a sliver for any positive share."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def joined(items: Iterable[tuple[str, int]], head: str = "", *, label: int = 34) -> str:
    """Return ``head`` and as many (label, nanoseconds) as fit in a line.

    Labels longer than ``label`` characters lose their middle.
    """
    line = head
    for name, ns in items:
        text = f"{_middle(name, label)} {duration(ns / 1e9)}"
        longer = f"{line} · {text}" if line else text
        if len(longer) > LINE:
            break
        line = longer
    return line


def _middle(text: str, width: int) -> str:
    """Cut the middle out of a long name: its ends tell most."""
    if len(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[:half]}…{text[-half:]}"
