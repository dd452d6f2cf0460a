"""The average has the first run in it

The program averages over runs of which the first is cold. The mean then depends on how many runs
were made: it is neither the time of the first run nor that of a later one.

It fires when the source takes a mean over a list to which every run's time goes, and the measured
runs show that leaving out run 0 changes the mean by a tenth or more in four of five launches. It
also fires, as likely, when the time of a whole loop is divided, or timeit repeats a statement, and
a tenth or more of that time went into what is done once: loading, compiling, searching.

Leave the first run out of the mean, and tell it beside it: `times[0]`, `mean(times[1:])`.
"""

from __future__ import annotations

import ast
from statistics import fmean, median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import mostly, walls
from coldsoak.findings.products import statements_of
from coldsoak.findings.source import Source, name_of
from coldsoak.findings.words import runs_text, seconds_text, share_text
from coldsoak.model.causes import GROUPS, Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "first-run-in-average"
SEVERITY: Severity = "mistake"

CHANGE = 0.10
"""Relative change of the mean by run 0 from which it misleads."""
_ONCE = {
    *GROUPS["driver"],
    *GROUPS["library"],
    *GROUPS["compiler"],
    *(Cause.IMPORT_PYTHON, Cause.LIBRARY_LOAD, Cause.POOL_RESERVE),
}
"""Causes that no second call pays again."""
_MEANS = {"mean", "fmean", "average", "nanmean", "sum"}
_TRIMS = {"pop", "clear", "popleft", "remove"}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series whose times are averaged with the first."""
    for arm, series, _ in view.each():
        rows = [row for row in walls(view, arm, series.id) if len(row) > 1]
        if not rows:
            yield from _loops(view, arm, series)
            continue
        if not mostly(fmean(row) >= (1 + CHANGE) * fmean(row[1:]) for row in rows):
            continue
        source = view.source(series.end.file) if series.end else None
        use = _averaged(source, series) if source else None
        if source is None or use is None:
            continue
        name, line, sure = use
        with_first = median(map(fmean, rows))
        without = median(fmean(row[1:]) for row in rows)
        file, _ = view.place(series.end)
        count = max(map(len, rows))
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"The mean over all runs of {view.name(series.id)} is "
                f"{seconds_text(with_first)}; over {runs_text(count)} it is "
                f"{seconds_text(without)}."
            ),
            evidence=(f"line {line}: {source.line(line)}",),
            advice=(_corrected(source.line(line), name),),
            confidence="measured" if sure else "likely",
            settle="" if sure else "That line stands under a condition; it may not have run.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=with_first - without,
        )


def _loops(view: View, arm: str, series: Series) -> Iterator[Finding]:
    """Yield a finding for a loop that is timed as one and has work in it that is done once."""
    ledgers = view.ledgers(arm, "region", series.id)
    if not ledgers or not (series.kind == "timeit" or _divided_loop(view, series)):
        return
    once = median(
        sum(x.ns for x in g.lines if x.cause in _ONCE) / max(g.total_ns, 1) for g in ledgers
    )
    if once < CHANGE:
        return
    total = median(ledger.total_ns for ledger in ledgers) / 1e9
    file, line = view.place(series.end)
    yield Finding(
        code=CODE,
        severity=SEVERITY,
        text=(
            f"{view.name(series.id)} times a whole loop, and {share_text(once)} of its "
            f"{seconds_text(total)} is done once: the average depends on the loop's length."
        ),
        evidence=(f"line {line}: {view.line(series.end)}",) if view.line(series.end) else (),
        advice=("Call it once before the first clock reading, and tell that time beside it.",),
        confidence="likely",
        settle="Timing each run by itself would show what the first one costs.",
        file=file,
        line=line,
        series=series.id,
        arm=arm,
        seconds=once * total,
    )


def _divided_loop(view: View, series: Series) -> bool:
    """Tell whether the region is around a loop and what it measures is divided."""
    source = view.source(series.end.file) if series.end else None
    if source is None:
        return False
    statements, _ = statements_of(source, series)
    if not any(isinstance(n, ast.For) for s in statements for n in ast.walk(s)):
        return False
    names = _holders(source, series)
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and _mentions(node.left, names, series)
        for node in source.walk()
    )


def _averaged(source: Source, series: Series) -> tuple[str, int, bool] | None:
    """Return the list that gets every time of ``series``, the line that averages it, and whether
    that line is under no condition.
    """
    names = _collected(source, series)
    trimmed = {
        name_of(node.func).rpartition(".")[0]
        for _, node in source.calls()
        if name_of(node.func).rpartition(".")[2] in _TRIMS
    }
    trimmed |= _shortened(source)
    for dotted, node in source.calls():
        if dotted.rpartition(".")[2] not in _MEANS or not node.args:
            continue
        argument = node.args[0]
        name = name_of(argument) if isinstance(argument, ast.Name) else ""
        if name not in names or name in trimmed:
            continue
        if dotted != "sum" or _is_divided(source, node):
            return name, node.lineno, not _is_guarded(source, node)
    return None


def _is_guarded(source: Source, call: ast.Call) -> bool:
    return any(
        isinstance(node, ast.If | ast.IfExp)
        and "__name__" not in ast.unparse(node.test)
        and call in ast.walk(node)
        for node in source.walk()
    )


def _collected(source: Source, series: Series) -> set[str]:
    """Return the names of lists to which each run's time is added without a condition."""
    holders = _holders(source, series)
    conditional = {
        id(child)
        for loop in source.walk()
        if isinstance(loop, ast.For | ast.While | ast.AsyncFor)
        for node in ast.walk(loop)
        if isinstance(node, ast.If | ast.IfExp | ast.Try)
        for child in ast.walk(node)
    }
    names = set()
    for dotted, node in source.calls():
        owner, _, method = dotted.rpartition(".")
        if method != "append" or not node.args or id(node) in conditional:
            continue
        if _mentions(node.args[0], holders, series):
            names.add(owner)
    for assignment in source.walk():
        if not isinstance(assignment, ast.Assign) or not isinstance(assignment.value, ast.ListComp):
            continue
        made = assignment.value
        plain = not any(generator.ifs for generator in made.generators)
        if plain and _mentions(made.elt, holders, series):
            names |= {name_of(target) for target in assignment.targets}
    return names - {""}


def _holders(source: Source, series: Series) -> set[str]:
    """Return the names that the elapsed time is assigned to at the second clock reading."""
    line = series.end.line if series.end else 0
    return {
        name_of(target)
        for node in source.between(line, line)
        if isinstance(node, ast.Assign)
        for target in node.targets
    } - {""}


def _mentions(node: ast.expr, holders: set[str], series: Series) -> bool:
    """Tell whether an expression is a run's time: its name, its subtraction, or its function."""
    line = series.end.line if series.end else 0
    function = series.end.function.rpartition(".")[2] if series.end else ""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in holders:
            return True
        if isinstance(part, ast.Call) and function and name_of(part.func) == function:
            return True
        if isinstance(part, ast.BinOp) and part.lineno == line:
            return True
    return False


def _shortened(source: Source) -> set[str]:
    """Return the names from which something is cut off: ``del x[0]``, ``x = x[1:]``."""
    cut = set()
    for node in source.walk():
        if isinstance(node, ast.Delete):
            cut |= {name_of(t.value) for t in node.targets if isinstance(t, ast.Subscript)}
        elif isinstance(node, ast.Assign) and _is_slice(node.value):
            cut |= {name_of(target) for target in node.targets}
    return cut


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def _is_divided(source: Source, call: ast.Call) -> bool:
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and call in ast.walk(node.left)
        for node in source.walk()
    )


def _corrected(line: str, name: str) -> str:
    """Return the line with the first run left out."""
    text = line
    for call in ("len", *sorted(_MEANS)):
        text = text.replace(f"{call}({name})", f"{call}({name}[1:])")
    return text if text != line else f"{name} = {name}[1:]  # before line: {line}"
