"""Makes a table fit: without bars, closer, with shorter names, folded, and at last stacked.

A name is shortened in its middle, and only as long as no two different names become alike. In a
stacked table each row has its names on lines of their own and its figures below.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from coldsoak.report.numbers import DASH
from coldsoak.report.sheet import only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.report.sheet import Column, Sheet

__all__ = ["STACK_INDENT", "Layout", "fit", "shortened"]

WIDE_GAP, NARROW_GAP = 2, 1
LEAST_NAME = 24
"""Columns that a shortened name keeps at the least: fewer tell too little."""
LEAST_ELIDED = 20
STACK_INDENT = 2
"""Columns by which the figures of a stacked table stand further in than the names."""
MOST_LINES = 3
"""Lines of a folded cell beyond which a table is stacked."""

_SPLITS = (0.5, 0.3, 0.7, 0.15, 0.85, 0.0, 1.0)
"""Shares of a shortened name that are kept of its beginning, the preferred first."""


class Layout(NamedTuple):
    """A table as it is drawn."""

    sheet: Sheet
    gap: int = WIDE_GAP
    """Spaces between columns."""
    widths: tuple[int | None, ...] = ()
    """Of the columns whose cells have to be folded, None for all others; empty when none has to."""
    names: tuple[str, ...] = ()
    """Of a stacked table: what stands above the figures of each row."""


def fit(sheet: Sheet, width: int) -> Layout:
    """Return ``sheet`` as it is best drawn in ``width`` columns."""
    for step in (_as_it_is, _without_graphics, _with_short_names):
        sheet = step(sheet, width)
        natural = _natural(sheet)
        for gap in (WIDE_GAP, NARROW_GAP):
            if _total(natural, gap) <= width:
                return Layout(sheet, gap)
    return _folded(sheet, width) or _stacked(sheet, width) or Layout(sheet, NARROW_GAP)


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * max(len(widths) - 1, 0)


def _natural(sheet: Sheet) -> list[int]:
    return [
        LEAST_ELIDED
        if column.elide
        else max(cell_len(line) for text in (column.title, *cells) for line in text.split("\n"))
        for column, cells in _columns(sheet)
    ]


def _columns(sheet: Sheet) -> list[tuple[Column, list[str]]]:
    return [
        (column, [row[index] for row in sheet.rows]) for index, column in enumerate(sheet.columns)
    ]


def _as_it_is(sheet: Sheet, width: int) -> Sheet:
    del width
    return sheet


def _without_graphics(sheet: Sheet, width: int) -> Sheet:
    """Leave out the bars, which repeat a figure."""
    del width
    return only(sheet, [i for i, column in enumerate(sheet.columns) if not column.graphic])


def _with_short_names(sheet: Sheet, width: int) -> Sheet:
    """Shorten names, the longest first, as far as it takes and as they stay apart.

    Where that is not enough they are left whole: half a remedy is none.
    """
    natural = _natural(sheet)
    long = [i for i, column in enumerate(sheet.columns) if column.name and natural[i] > LEAST_NAME]
    over = _total(natural, WIDE_GAP) - width
    rows = [list(row) for row in sheet.rows]
    for index in sorted(long, key=lambda index: -natural[index]):
        room = max(natural[index] - over, LEAST_NAME)
        cut = shortened([row[index] for row in rows], room) if over > 0 else None
        if cut is not None:
            over -= natural[index] - max(map(cell_len, cut))
            for row, text in zip(rows, cut, strict=True):
                row[index] = text
    closer = _total(natural, WIDE_GAP) - _total(natural, NARROW_GAP)
    return sheet if over > closer else replace(sheet, rows=tuple(map(tuple, rows)))


def shortened(names: Sequence[str], width: int) -> list[str] | None:
    """Return ``names`` in at most ``width`` columns each; None if two of them would become alike."""
    different = list(dict.fromkeys(names))
    for head in _SPLITS:
        cut = {name: _cut(name, width, head) for name in different}
        if len(set(cut.values())) == len(different):
            return [cut[name] for name in names]
    return None


def _cut(name: str, width: int, head: float) -> str:
    if cell_len(name) <= width:
        return name
    left = round((width - 1) * head)
    right = width - 1 - left
    return f"{name[:left]}…{name[len(name) - right :]}"


def _folded(sheet: Sheet, width: int) -> Layout | None:
    """Fold texts between words; None where that does not do, or where a row must be one line."""
    if sheet.details:
        return None
    natural = _natural(sheet)
    words = [
        max(cell_len(word) for text in (column.title, *cells) for word in (text.split() or [""]))
        for column, cells in _columns(sheet)
    ]
    texts = [i for i, column in enumerate(sheet.columns) if not column.right and not column.elide]
    for gap in (WIDE_GAP, NARROW_GAP):
        over = _total(natural, gap) - width
        widths: list[int | None] = [None] * len(natural)
        for index in sorted(texts, key=lambda index: words[index] - natural[index]):
            now = max(natural[index] - over, words[index])
            if over > 0 and natural[index] <= MOST_LINES * now:
                widths[index] = now
                over -= natural[index] - now
        if over <= 0:
            return Layout(sheet, gap, tuple(widths))
    return None


def _stacked(sheet: Sheet, width: int) -> Layout | None:
    """Put what stands left of the first figure above the figures; None for a table without either."""
    columns = sheet.columns
    first = next((i for i, column in enumerate(columns) if column.right), len(columns))
    if first in {0, len(columns)} or any(column.elide for column in columns):
        return None
    names = tuple(" · ".join(text for text in row[:first] if text != DASH) for row in sheet.rows)
    rest = only(sheet, list(range(first, len(columns))))
    for gap in (WIDE_GAP, NARROW_GAP):
        if _total(_natural(rest), gap) <= width - STACK_INDENT:
            return Layout(rest, gap, names=names)
    return None
