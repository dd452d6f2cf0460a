"""How the cold overhead grows with the size, and what that says about its cause."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import walls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coldsoak.findings.view import View
    from coldsoak.model.result import Launch, Series
    from coldsoak.stats.scaling import Scaling

__all__ = ["Law", "laws"]

SIZES = 3
"""Different sizes that three terms need."""
MOST = 0.5
"""Share of the overhead at the largest size from which a term is what it is made of."""
ALL = 0.8


@dataclass(frozen=True)
class Law:
    """The fitted law of one way to compute."""

    name: str
    scaling: Scaling
    words: str
    """What the law means for the cause."""


def laws(view: View) -> Iterator[Law]:
    """Yield the law of each way to compute that was measured at three sizes or more."""
    from coldsoak.stats.scaling import fit

    for name, sizes, rounds in (*_of_bench(view), *_of_run(view)):
        if len(set(sizes)) >= SIZES and rounds:
            law = fit(sizes, rounds)
            yield Law(name, law, _meaning(law))


_Rounds = tuple[str, list[float], list[list[float]]]


def _of_bench(view: View) -> Iterator[_Rounds]:
    """Yield the sizes of one framework, compiler and device, with a row of overheads per round."""
    ways: dict[tuple[str, str, str, str], dict[float, str]] = defaultdict(dict)
    for arm in view.result.arms:
        sizes = set(arm.case.shape.values()) if arm.case else set()
        if arm.case is not None and len(sizes) == 1:
            case = arm.case
            way = case.workload, case.framework, case.compiler, case.device
            ways[way][float(sizes.pop())] = arm.name
    for (_, framework, compiler, device), arms in ways.items():
        sizes_, names = sorted(arms), [arms[size] for size in sorted(arms)]
        rows = [_by_round(view, name) for name in names]
        shared = set.intersection(*(set(row) for row in rows)) if rows else set()
        rounds = [[row[number] for row in rows] for number in sorted(shared)]
        name = " ".join(part for part in (framework, compiler, f"on {device}") if part)
        yield name, sizes_, [row for row in rounds if min(row) > 0]


def _by_round(view: View, arm: str) -> dict[int, float]:
    """Return the cold overhead of an arm's lead series by round."""
    summary = next((s for s in view.result.summaries if s.arm == arm), None)
    lead = view.lead(summary) if summary else None
    if lead is None:
        return {}
    return {
        launch.round: cost
        for launch in view.launches(arm)
        if (cost := _overhead(view, launch, lead.series)) is not None
    }


def _overhead(view: View, launch: Launch, series: str) -> float | None:
    runs = [run.wall for run in view.executions(launch, series)]
    return runs[0] - median(runs[1:]) if len(runs) > 1 else None


def _of_run(view: View) -> Iterator[_Rounds]:
    """Yield the sizes of a region whose case names a shape, without the first, which pays for all."""
    groups: dict[tuple[str, object, object, str], list[tuple[float, Series]]] = defaultdict(list)
    for arm, series, _ in view.each():
        for key, value in series.case.items():
            size = _square(value)
            if size is not None and series.kind != "bench":
                rest = ", ".join(f"{k}={v}" for k, v in series.case.items() if k != key)
                groups[arm, series.start, series.end, rest].append((size, series))
    for (arm, _, _, rest), members in groups.items():
        later = members[1:]
        if any(len(row) < 2 for _, s in later for row in walls(view, arm, s.id)):
            continue
        rounds = []
        for launch in view.launches(arm):
            costs = [_overhead(view, launch, series.id) for _, series in later]
            if costs and all(cost is not None and cost > 0 for cost in costs):
                rounds.append([cost for cost in costs if cost is not None])
        label = members[0][1].label.partition(" (")[0]
        yield (f"{label} with {rest}" if rest else label), [size for size, _ in later], rounds


def _square(text: str) -> float | None:
    """Return N of ``(N, N)``."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    if isinstance(value, tuple) and len(value) == 2 and value[0] == value[1]:
        return float(value[0]) if isinstance(value[0], int) and value[0] > 0 else None
    return None


def _meaning(law: Scaling) -> str:
    """Say what the largest term at the largest size stands for."""
    parts: Sequence[float] = law.parts(max(law.sizes))
    total = sum(parts) or 1.0
    constant, data, arithmetic = (part / total for part in parts)
    if constant >= ALL:
        return "hardly grows: starting, loading or compiling, not data and not a search"
    if arithmetic >= MOST:
        return "grows with N³: products are being run, as a search for the fastest kernel does"
    if data >= MOST:
        return "grows with N²: data is made, moved or touched"
    return "mixed: no term makes up most of it at the largest size"
