"""Each new shape has a first run of its own

The process was warm, and yet the first run with another shape or size was slow: programs are
compiled, plans built, algorithms searched and buffers allocated for each shape. Warming up with one
shape does nothing for the next. The cost follows the shape and not the data.

It fires when a region runs with several shapes, named by short local values, and for at least one
that was not the first, run 0 takes at least twice its later runs and a millisecond more (150 ms
where other work was taking the machine), in four of five launches.

Warm up every shape that will come, pad to a few shapes, or let the compiler work with symbolic ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import high, later_median, least_difference, mostly, walls
from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "per-shape-first-run"
SEVERITY: Severity = "warning"

TIMES = 2.0
_SHAPE = re.compile(r"[\[(]?\s*\d+(\s*[,x×]\s*\d+)*,?\s*[\])]?")


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each region that pays anew for new shapes."""
    for arm, group in _groups(view):
        costs = [(s, cost) for s in group[1:] if (cost := _cost(view, arm, s)) is not None]
        if not costs:
            continue
        worst, (first, later) = max(costs, key=lambda pair: pair[1][0] - pair[1][1])
        file, line = view.place(worst.start)
        total = sum(a - b for _, (a, b) in costs)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"The process was warm, but the first run of {view.name(worst.id)} takes "
                f"{seconds_text(first)} and its later runs {seconds_text(later)}; "
                f"{plural(len(costs), 'new shape')} cost {seconds_text(total)} together."
            ),
            evidence=tuple(
                f"{view.name(s.id)}: run 0 {seconds_text(a)}, later {seconds_text(b)}"
                for s, (a, b) in costs[:3]
                if s is not worst
            ),
            file=file,
            line=line,
            series=worst.id,
            arm=arm,
            seconds=total,
        )


def _groups(view: View) -> Iterable[tuple[str, list[Series]]]:
    """Return the series of one region that differ in a shape alone, in order."""
    groups: dict[tuple[str, object, object, tuple[tuple[str, str], ...]], list[Series]] = (
        defaultdict(list)
    )
    for arm, series, _ in view.each():
        shapes = {k for k, v in series.case.items() if _SHAPE.fullmatch(v.strip("'\""))}
        rest = tuple(sorted((k, v) for k, v in series.case.items() if k not in shapes))
        if shapes and series.kind != "bench":
            groups[arm, series.start, series.end, rest].append(series)
    return [(key[0], group) for key, group in groups.items() if len(group) > 1]


def _cost(view: View, arm: str, series: Series) -> tuple[float, float] | None:
    rows = [row for row in walls(view, arm, series.id) if len(row) > 1]
    least = least_difference(view, arm)
    if not mostly(r[0] >= max(TIMES * high(r[1:]), later_median(r) + least) for r in rows):
        return None
    return median(row[0] for row in rows), median(map(later_median, rows))
