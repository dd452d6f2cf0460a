"""The tables of ``run``: regions, phases, imports and processes."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coldsoak.model.result import (
    ImportCost,
    Launch,
    Process,
    Result,
    Series,
    SeriesSummary,
    Summary,
)
from coldsoak.report.numbers import (
    DASH,
    TIMES_UNIT,
    Unit,
    duration,
    interval,
    percent,
    point,
    quantity,
    show,
    sum_scale,
    time_unit,
)
from coldsoak.report.select import (
    bare,
    by_order,
    caller_of,
    goal,
    label_of,
    name_of,
    once_told,
    series_by_id,
    spoken,
    timed,
    typical,
)
from coldsoak.report.sheet import Column, Sheet, bar, drop_empty, joined, lift_constants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.estimate import Estimate

__all__ = ["imports_sheet", "phases_sheet", "processes_sheet", "regions_sheet", "steady_word"]

TOP_IMPORTS = 8
SMALLEST_IMPORT_NS = 1_000_000
"""What the dearest package must take for the table to be worth its lines."""
MOST_PROCESSES = 12
MOST_KEYS, LONGEST_KEY = 3, 12
"""Case values up to so many, with names up to so long, have a column each."""
COMMAND = 120
"""Characters of a command line that are kept; the table elides them further."""

_STEADY_WORDS = {"no steady state": "none", "not assessed": DASH, "inconsistent": "varies"}


def steady_word(series: SeriesSummary) -> str:
    """Return the steady class in a word, with the run it starts at when that is not run 1."""
    word = _STEADY_WORDS.get(series.steady_class, series.steady_class)
    start = series.steady_start[0] if series.steady_start else 1
    return f"{word} ({start})" if start > 1 and word != DASH else word


def regions_sheet(result: Result, summary: Summary) -> Sheet | None:
    """Return the regions of one arm: metrics down the side for one, a row each for several."""
    ordered = by_order(result, summary)
    if not ordered:
        return None
    if len(ordered) == 1:
        return _one_region(result, summary, ordered[0])
    return _many_regions(result, summary, ordered)


def _runs(series: SeriesSummary) -> str:
    least, middle, most = series.runs
    count = f"{middle}" if least == most else f"{least} to {most}"
    return f"{count} {'run' if count == '1' else 'runs'} a launch"


def _one_region(result: Result, summary: Summary, series: SeriesSummary) -> Sheet:
    rows = [_metric("run 0", series.first)]
    if series.ready:
        rows.append(_metric("  until the device is done", series.ready))
    later = series.steady or series.later
    if later:
        rows.append(_metric(_later_name(series), later))
    if series.ready_later:
        rows.append(_metric("  until the device is done", series.ready_later))
    if series.overhead:
        rows.append(_metric("cold overhead", series.overhead))
    if series.ratio:
        rows.append(_metric("run 0 / later", series.ratio))
    if summary.first_result:
        rows.append(_metric("time to first result", summary.first_result))
    if summary.wall:
        rows.append(_metric(f"start to {goal(result)}", summary.wall))
    name = name_of(series_by_id(result).get(series.series))
    columns = (
        Column(""),
        Column("median", right=True),
        Column("95 % interval", right=True),
        Column("range", right=True),
    )
    title = f"{name} · {_runs(series)}"
    sheet = Sheet(title, columns, tuple(rows), remarks=_steady_remark(result, series))
    return drop_empty(sheet, DASH)


def _later_name(series: SeriesSummary) -> str:
    return "steady runs" if series.steady else "later runs"


def _metric(name: str, estimate: Estimate) -> tuple[str, ...]:
    unit = TIMES_UNIT if estimate.unit == "ratio" else time_unit([estimate.point])
    gap = "" if estimate.unit == "ratio" else " "
    value = f"{point(estimate, unit)}{gap}{unit.symbol}"
    return name, value, interval(estimate, unit), interval(estimate, unit, whole_range=True)


def _steady_remark(result: Result, series: SeriesSummary) -> tuple[str, ...]:
    if series.later is None:
        again = result.kind == "run" and result.options.until == "exit"
        advice = ": --rerun 5 would show later runs" if again else ""
        return (f"The region runs once in a process{advice}.",)
    counts = series.steady_counts
    if series.steady_class == "not assessed" or not counts:
        return ("Steady state not assessed: that takes at least 20 runs after the first.",)
    total = sum(counts.values())
    agree = max(counts.values())
    remark = f"Later runs: {series.steady_class} in {agree} of {total} launches"
    if series.steady_start:
        remark += f", from run {series.steady_start[0]}"
    return (remark + ".",)


def _many_regions(result: Result, summary: Summary, ordered: list[SeriesSummary]) -> Sheet:
    first = time_unit(s.first.point for s in ordered)
    later = time_unit(e.point for s in ordered if (e := s.steady or s.later))
    paid = time_unit(s.overhead.point for s in ordered if s.overhead)
    small = all(s.first.low is None for s in ordered)
    names, rows = region_names(result, ordered)
    columns = (
        *(Column(name, name=True) for name in names),
        Column(f"run 0\n{first.symbol}", right=True),
        Column("range" if small else "95 %\ninterval", right=True),
        Column(f"later\n{later.symbol}", right=True),
        Column("ratio", right=True),
        Column(f"overhead\n{paid.symbol}", right=True),
        Column("steady"),
    )
    figures = (
        (
            point(s.first, first),
            interval(s.first, first, whole_range=small),
            point(s.steady or s.later, later),
            point(s.ratio, TIMES_UNIT),
            point(s.overhead, paid),
            steady_word(s),
        )
        for s in ordered
    )
    cells = tuple((*row, *numbers) for row, numbers in zip(rows, figures, strict=True))
    sheet, said = lift_constants(Sheet("", columns, cells, remarks=_whole(result, summary)), names)
    facts = [text if name == "region" else f"{name}={text}" for name, text in said.items()]
    title = " · ".join(["Regions", *(fact for fact in facts if not fact.endswith(DASH))])
    return replace(drop_empty(sheet, DASH), title=title)


def region_names(
    result: Result, ordered: list[SeriesSummary]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the columns that name a region and their cells: its label, and each value of its case."""
    known = series_by_id(result)
    series = [known.get(s.series) for s in ordered]
    whole = [label_of(one) if one else "region" for one in series]
    labels = _without_file(whole)
    kin: dict[str, list[Series]] = defaultdict(list)
    for label, one in zip(whole, series, strict=True):
        kin[label] += [one] if one else []
    cases = [
        once_told(one, kin[label]) if one else {} for label, one in zip(whole, series, strict=True)
    ]
    keys = list(dict.fromkeys(key for case in cases for key in case))
    same = [key for key in keys if len({case.get(key) for case in cases}) == 1]
    keys = [key for key in keys if key not in same]
    cells: list[tuple[str, ...]]
    if _too_many(keys, cases):
        told = [", ".join(f"{k}={bare(case[k])}" for k in keys if k in case) for case in cases]
        cells = [
            (label, text or DASH, *(bare(case[key]) for key in same))
            for label, text, case in zip(labels, told, cases, strict=True)
        ]
        keys = ["case", *same]
    else:
        keys += same
        cells = [
            (label, *(bare(case[key]) if key in case else DASH for key in keys))
            for label, case in zip(labels, cases, strict=True)
        ]
    callers = [caller_of(result, one) if one else "" for one in series]
    if any(callers):
        cells = [(*row, caller or DASH) for row, caller in zip(cells, callers, strict=True)]
        keys.append("called at")
    return ["region", *keys], cells


def _too_many(keys: list[str], cases: list[dict[str, str]]) -> bool:
    """Whether a column for each value of the case would leave no room for the figures."""
    rare = any(2 * sum(key in case for case in cases) < len(cases) for key in keys)
    return rare or len(keys) > MOST_KEYS or any(len(key) > LONGEST_KEY for key in keys)


_LABEL = re.compile(r"(?:(?P<name>.+) \()?(?P<file>[^():]+):(?P<lines>[\d-]+)\)?")


def _without_file(labels: list[str]) -> list[str]:
    """Leave the file out of labels that differ, when all of them are in the same one."""
    found = [_LABEL.fullmatch(label) for label in labels]
    files = {match["file"] if match else "" for match in found}
    if len(set(labels)) == 1 or len(files) > 1 or "" in files:
        return labels
    return [f"{match['name'] or 'line'} {match['lines']}" for match in found if match]


def _whole(result: Result, summary: Summary) -> tuple[str, ...]:
    parts = []
    if summary.first_result:
        parts.append(f"time to first result {quantity(summary.first_result)}")
    if summary.wall:
        parts.append(f"start to {goal(result)} {quantity(summary.wall)}")
    return (" · ".join(parts).capitalize() + ".",) if parts else ()


_PHASES = {
    "start": "interpreter start",
    "agent": "coldsoak's own start",
    "import": "imports",
    "script": "script outside of regions",
    "region": "regions",
    "between": "between regions",
    "exit": "exit",
}


def phases_sheet(result: Result, summary: Summary) -> Sheet | None:
    """Return the phases of the main process's life, which add up to its wall time."""
    if not summary.phases or not summary.wall:
        return None
    whole = summary.wall.point
    unit, digits = sum_scale(whole)
    kinds = [kind for kind in summary.phases if kind != "exit" or goal(result) == "exit"]
    named = [(_PHASES.get(kind, kind), summary.phases[kind].point) for kind in kinds]
    rows = [_phase(name, seconds, whole, unit, digits) for name, seconds in named]
    rows.append(_phase(f"start to {goal(result)}", whole, whole, unit, digits, graphic=False))
    columns = (
        Column("phase"),
        Column(unit.symbol, right=True),
        Column("share", right=True),
        Column("", graphic=True),
    )
    remarks = _sum_remark(result, whole, sum(seconds for _, seconds in named))
    details = (*(_stretches(result, summary, kind) for kind in kinds), "")
    return Sheet("Phases of the process", columns, tuple(rows), details, remarks, total=True)


def _sum_remark(result: Result, whole: float, parts: float) -> tuple[str, ...]:
    if abs(whole - parts) <= whole / 200:
        return ()
    if goal(result) != "exit":
        return (f"The process lived on for a moment after {goal(result)} was met.",)
    return ("Medians: they add up in each launch, but need not here.",)


def _phase(
    name: str, seconds: float, whole: float, unit: Unit, digits: int, *, graphic: bool = True
) -> tuple[str, ...]:
    share = seconds / whole if whole else 0.0
    drawn = bar(share, 28) if graphic else ""
    return name, show(seconds / unit.scale, digits), percent(share), drawn


def _stretches(result: Result, summary: Summary, kind: str) -> str:
    """Name the longest stretches of a phase in a typical launch."""
    launch = typical(timed(result, summary.arm))
    main = main_process(launch) if launch else None
    mine = [s for s in main.stretches if s.kind == kind and s.name] if main else []
    if len(mine) < 2 or kind not in {"script", "region", "between"}:
        return ""
    known = series_by_id(result)
    totals: dict[str, int] = defaultdict(int)
    for stretch in mine:
        name = spoken(result, stretch.name) if stretch.name in known else stretch.name
        totals[name] += stretch.ns
    ranked = sorted(totals.items(), key=lambda item: -item[1])
    longest = [(name, ns) for name, ns in ranked if ns >= 0.1 * ranked[0][1]]
    return joined(longest, label=60)


def imports_sheet(result: Result, arm: str) -> Sheet | None:
    """Return the dearest top-level packages of the main process: medians over the timed launches."""
    costs = _import_medians(timed(result, arm))
    if not costs or costs[0].self_ns < SMALLEST_IMPORT_NS:
        return None
    top = [cost for cost in costs if cost.self_ns >= 0.01 * costs[0].self_ns][:TOP_IMPORTS]
    unit, digits = sum_scale(max(cost.cumulative_ns for cost in top) / 1e9)
    scale = unit.scale * 1e9

    def cell(ns: int) -> str:
        return show(ns / scale, digits) if ns >= 0.5 * scale / 10**digits else DASH

    rows = tuple(
        (
            cost.package,
            f"{cost.modules:,}",
            cell(cost.self_ns),
            cell(cost.compile_ns),
            cell(cost.gc_ns),
            cell(cost.cumulative_ns),
        )
        for cost in top
    )
    columns = (
        Column("package"),
        Column("modules", right=True),
        Column(f"self\n{unit.symbol}", right=True),
        Column("of it\ncompiling", right=True),
        Column("of it\ngc", right=True),
        Column(f"cumulative\n{unit.symbol}", right=True),
    )
    rest = costs[len(top) :]
    others = duration(sum(cost.self_ns for cost in rest) / 1e9)
    remarks = (f"{len(rest)} more take {others} together.",) if rest else ()
    return Sheet("Imports", columns, rows, remarks=remarks)


def _import_medians(launches: Sequence[Launch]) -> list[ImportCost]:
    seen: dict[str, list[ImportCost]] = defaultdict(list)
    for launch in launches:
        main = main_process(launch)
        for cost in main.imports if main else ():
            seen[cost.package].append(cost)
    costs = [_median_cost(package, values) for package, values in seen.items()]
    return sorted(costs, key=lambda cost: -cost.self_ns)


def _median_cost(package: str, values: list[ImportCost]) -> ImportCost:
    def middle(name: str) -> int:
        return int(statistics.median(getattr(value, name) for value in values))

    return ImportCost(
        package=package,
        modules=middle("modules"),
        self_ns=middle("self_ns"),
        cumulative_ns=middle("cumulative_ns"),
        compile_ns=middle("compile_ns"),
        gc_ns=middle("gc_ns"),
    )


def main_process(launch: Launch) -> Process | None:
    """Return the first interpreter of the launch."""
    return min(launch.processes, key=lambda process: process.start_ns, default=None)


@dataclass(frozen=True)
class _Life:
    """What a line of the process table says, whoever saw it."""

    argv: tuple[str, ...]
    start_ns: int
    end_ns: int | None
    cpu_s: float | None = None
    why: str = ""


def processes_sheet(result: Result, arm: str) -> Sheet | None:
    """Return the other processes of a typical launch, each with its own line."""
    launch = typical(timed(result, arm))
    lives = _others(launch) if launch else []
    if launch is None or not lives:
        return None
    longest = sorted(lives, key=_length, reverse=True)[:MOST_PROCESSES]
    unit, digits = sum_scale(max(map(_length, longest)) / 1e9 or 1e-3)
    rows = tuple(
        (
            _command(life.argv),
            show(life.start_ns / 1e9 / unit.scale, digits),
            show(_length(life) / 1e9 / unit.scale, digits) if life.end_ns else "?",
            DASH if life.cpu_s is None else show(life.cpu_s / unit.scale, digits),
            life.why,
        )
        for life in lives
        if life in longest
    )
    columns = (
        Column("process", elide=True),
        Column(f"starts at\n{unit.symbol}", right=True),
        Column("takes", right=True),
        Column("CPU", right=True),
        Column("not looked into"),
    )
    more = len(lives) - len(longest)
    remarks = (f"{more} more, all shorter.",) if more else ()
    sheet = Sheet(f"Other processes of launch {launch.index}", columns, rows, remarks=remarks)
    return drop_empty(drop_empty(sheet, ""), DASH)


def _others(launch: Launch) -> list[_Life]:
    main = main_process(launch)
    lives = [
        _Life(p.argv, p.start_ns, p.end_ns or p.exit_ns) for p in launch.processes if p is not main
    ]
    first = None if main else min(launch.children, key=lambda c: c.start_ns, default=None)
    lives += [
        _Life(c.argv, c.start_ns, c.end_ns, c.cpu_s, c.why)
        for c in launch.children
        if c is not first  # the command itself, whose time the answer leads with
    ]
    return sorted(lives, key=lambda life: life.start_ns)


def _length(life: _Life) -> int:
    return (life.end_ns or life.start_ns) - life.start_ns


def _command(argv: tuple[str, ...]) -> str:
    if not argv:
        return "(gone before it could be read)"
    text = " ".join((argv[0].rsplit("/", 1)[-1], *argv[1:])).replace("\n", " ")
    return text[:COMMAND]
