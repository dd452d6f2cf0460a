"""A process's life in stretches that add up to its wall time, and the price of its imports."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple

from coldsoak.launch.lives import Life, phase
from coldsoak.launch.redact import redact_command
from coldsoak.model.result import Execution, ImportCost, Process, Series, Site, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from coldsoak.launch.spoolfile import File
    from coldsoak.model import spool

__all__ = ["import_costs", "partition", "process"]

Kind = Literal["start", "agent", "import", "script", "region", "between", "exit"]


class _Piece(NamedTuple):
    start: int
    end: int
    kind: Kind
    name: str


def process(
    file: File, life: Life, regions: Sequence[tuple[Execution, Series]], *, t0_ns: int
) -> Process:
    """Put together what is known of one process; moments relative to the spawn."""

    def since_spawn(moment: int | None) -> int | None:
        return None if moment is None else moment - t0_ns

    record = file.process
    ready = phase(file, "agent_ready") or record.begin_ns
    return Process(
        pid=record.pid,
        ppid=record.ppid,
        argv=redact_command(record.argv),
        how=record.how,
        python=record.python,
        executable=record.executable,
        start_ns=life.start_ns - t0_ns,
        ready_ns=record.begin_ns - t0_ns,
        agent_ns=ready - record.begin_ns,
        main_start_ns=since_spawn(phase(file, "main_start")),
        main_end_ns=since_spawn(phase(file, "main_end", last=True)),
        exit_ns=since_spawn(phase(file, "exit", last=True)),
        end_ns=life.end_ns - t0_ns,
        complete=life.complete,
        stretches=partition(file, life, regions, t0_ns=t0_ns),
        imports=import_costs(file.imports),
        measurement_ns=_measurement(file, ready),
    )


def partition(
    file: File, life: Life, regions: Sequence[tuple[Execution, Series]], *, t0_ns: int
) -> tuple[Stretch, ...]:
    """Divide [start, end] of a process by what its main thread was at; the parts add up.

    An instant belongs to the outermost region, else to the agent's own work, else to the outermost
    import, else to the script.
    A region's stretch has the id of its series for a name, an import's the top-level package.
    Pieces of one kind and name are added up, in the order of their first appearance.
    """
    main = file.process.thread
    frame = _frame(file, life)
    bounds = (frame[1].end, life.end_ns)
    own = [(one, series) for one, series in regions if one.thread == main]
    timed = _disjoint(
        [_Piece(one.start_ns + t0_ns, one.end_ns + t0_ns, "region", of.id) for one, of in own],
        bounds,
    )
    costs = [
        _Piece(one.start_ns, one.end_ns, "agent", one.what)
        for one in file.costs
        if one.thread == main
    ]
    imports = [
        _Piece(one.start_ns, one.end_ns, "import", _package(one.name))
        for one in file.imports
        if one.thread == main
    ]
    loaded = _overlay(_disjoint(imports, bounds), _disjoint(costs, bounds))
    script = _name_gaps(frame, timed, {series.id: series for _, series in own})
    sums: dict[tuple[Kind, str], int] = defaultdict(int)
    for piece in _overlay(script, _overlay(loaded, timed)):
        sums[piece.kind, piece.name] += piece.end - piece.start
    return tuple(Stretch(kind=kind, name=name, ns=ns) for (kind, name), ns in sums.items() if ns)


def import_costs(imports: Iterable[spool.Imported]) -> tuple[ImportCost, ...]:
    """Price the imports of one process by top-level package, dearest first.

    The own times of all packages add up to the time of all outermost imports: a module's own time
    is its duration less that of the modules imported inside it, on the same thread.
    """
    totals: dict[str, _Package] = defaultdict(_Package)
    for node in _nested(imports):
        package = totals[_package(node.record.name)]
        own_ns = max(0, node.end - node.record.start_ns - node.inner_ns)
        package.modules += 1
        package.self_ns += own_ns
        package.compile_ns += min(own_ns, node.record.compile_ns)
        package.gc_ns += min(own_ns, max(0, node.record.gc_ns - node.inner_gc_ns))
        if node.outermost_of_package:
            package.cumulative_ns += node.end - node.record.start_ns
    costs = (
        ImportCost(
            package=name,
            modules=package.modules,
            self_ns=package.self_ns,
            cumulative_ns=package.cumulative_ns,
            compile_ns=package.compile_ns,
            gc_ns=package.gc_ns,
        )
        for name, package in totals.items()
    )
    return tuple(sorted(costs, key=lambda cost: (-cost.self_ns, cost.package)))


@dataclass
class _Package:
    modules: int = 0
    self_ns: int = 0
    cumulative_ns: int = 0
    compile_ns: int = 0
    gc_ns: int = 0


@dataclass
class _Node:
    record: spool.Imported
    end: int
    packages: frozenset[str] = field(default_factory=frozenset)
    """Of the imports around it."""
    inner_ns: int = 0
    inner_gc_ns: int = 0

    @property
    def outermost_of_package(self) -> bool:
        return _package(self.record.name) not in self.packages


def _nested(imports: Iterable[spool.Imported]) -> list[_Node]:
    """Find by time, thread by thread, which import lies inside which."""
    nodes: list[_Node] = []
    stacks: dict[int, list[_Node]] = defaultdict(list)
    for record in sorted(imports, key=lambda one: (one.start_ns, -one.end_ns, one.depth)):
        stack = stacks[record.thread]
        while stack and stack[-1].end <= record.start_ns:
            stack.pop()
        node = _Node(record, max(record.start_ns, record.end_ns))
        if stack:
            around = stack[-1]
            node.end = min(node.end, around.end)
            node.packages = around.packages | {_package(around.record.name)}
            around.inner_ns += node.end - record.start_ns
            around.inner_gc_ns += record.gc_ns
        stack.append(node)
        nodes.append(node)
    return nodes


def _package(module: str) -> str:
    return module.partition(".")[0]


def _frame(file: File, life: Life) -> list[_Piece]:
    """Divide a life by its phases; a phase that never came has no length."""
    begin = file.process.begin_ns
    ready = phase(file, "agent_ready") or begin
    exited = phase(file, "exit", last=True) or life.end_ns
    returned = phase(file, "main_end", last=True) or exited
    names: tuple[tuple[Kind, str], ...] = (
        ("start", "fork" if file.process.how == "fork" else "interpreter"),
        ("agent", "start"),
        ("start", "site and main module"),
        ("script", ""),
        ("exit", "atexit"),
        ("exit", "shutdown"),
    )
    moments = [life.start_ns]
    for moment in (begin, ready, phase(file, "main_start") or ready, returned, exited):
        moments.append(min(max(moment, moments[-1]), life.end_ns))
    moments.append(life.end_ns)
    return [
        _Piece(start, end, kind, name)
        for (start, end), (kind, name) in zip(pairwise(moments), names, strict=True)
    ]


def _name_gaps(
    frame: Sequence[_Piece], timed: Sequence[_Piece], series: dict[str, Series]
) -> list[_Piece]:
    """Name what the script does between its regions by the lines around it."""
    pieces = []
    for piece in frame:
        if piece.kind != "script" or not timed:
            pieces.append(piece)
            continue
        for gap in _without([piece], timed):
            place = bisect_right(timed, gap.start, key=lambda one: one.start)
            left = series[timed[place - 1].name].end if place else None
            right = series[timed[place].name].start if place < len(timed) else None
            pieces.append(gap._replace(kind="between", name=_between(left, right)))
    return pieces


def _between(left: Site | None, right: Site | None) -> str:
    if left is not None and right is not None:
        inside = left.file == right.file
        if inside and left.line == right.line:
            return f"between runs at {PurePath(left.file).name}:{left.line}"
        target = f"{right.line}" if inside else f"{PurePath(right.file).name}:{right.line}"
        return f"{PurePath(left.file).name}:{left.line} to {target}"
    if right is not None:
        return f"before {PurePath(right.file).name}:{right.line}"
    return f"after {PurePath(left.file).name}:{left.line}" if left is not None else ""


def _disjoint(pieces: Iterable[_Piece], bounds: tuple[int, int]) -> list[_Piece]:
    """Keep the outermost pieces inside ``bounds``; where two cross, the earlier one goes on."""
    cursor, limit = bounds
    kept = []
    for piece in sorted(pieces, key=lambda one: (one.start, -one.end)):
        start, end = max(piece.start, cursor), min(piece.end, limit)
        if end > start:
            kept.append(piece._replace(start=start, end=end))
            cursor = end
    return kept


def _overlay(lower: Iterable[_Piece], upper: Sequence[_Piece]) -> list[_Piece]:
    """Lay ``upper`` over ``lower``, both disjoint, and return the pieces in order of time."""
    return sorted([*_without(lower, upper), *upper])


def _without(pieces: Iterable[_Piece], holes: Sequence[_Piece]) -> Iterator[_Piece]:
    """Yield what the holes leave of the pieces; both are disjoint and in order of time."""
    first = 0
    for piece in pieces:
        cursor = piece.start
        while first < len(holes) and holes[first].end <= cursor:
            first += 1
        place = first
        while place < len(holes) and holes[place].start < piece.end:
            if holes[place].start > cursor:
                yield piece._replace(start=cursor, end=holes[place].start)
            cursor = max(cursor, holes[place].end)
            place += 1
        if cursor < piece.end:
            yield piece._replace(start=cursor)


def _measurement(file: File, ready: int) -> int:
    """Add up the agent's start and the costs that it admits outside of it."""
    begin = file.process.begin_ns
    outside = (cost for cost in file.costs if cost.start_ns >= ready)
    return max(0, ready - begin) + sum(max(0, cost.end_ns - cost.start_ns) for cost in outside)
