"""Make a test fixture of a traced launch: small, and without what tells on the machine.

    python scripts/make_fixture.py RESULT_FOLDER NAME [--launch N] [--first-series] [--frames K]

Writes ``NAME.trace.gz``, and ``NAME.json`` with the launch and the series of the result. Kept is
what attribution reads: details of spans, page faults by address and thread names go. Folders,
temporary names, host and user names are taken out of all texts, and long names are cut. For a trace
that would be too large, ``--first-series`` ends the launch with the last run of its first series,
and ``--frames`` shortens each stack to its leaf, the frames that its verdict rests on and K around
each. The fixture is written only if its ledgers have the very sums of the whole trace's.
"""

from __future__ import annotations

import argparse
import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from coldsoak.launch.store import read_result
from coldsoak.launch.trace import load_trace
from coldsoak.ledger import attribute
from coldsoak.ledger.rules.samples import classify
from coldsoak.model.result import Launch, Process, Series, Site
from coldsoak.model.trace import (
    DeviceOps,
    Events,
    Frames,
    OffCpu,
    Samples,
    Spans,
    Trace,
    Track,
    pack,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
EVENTS = {"alloc", "fault.major", "read_bytes", "threads"}
"""Kinds of events that attribution reads."""
_TEMPORARY = re.compile(r"tempfile-\w+-[0-9a-f]+-\d+-[0-9a-f]+|\btmp\w{6,}|--kernel-id=\S+")
_NAME = 240
_PATH = re.compile(r"(?<![\w.])(?:/[\w.+@~-]+)+/(?=[\w.+@~-])")


def neutral(text: str) -> str:
    """Return ``text`` with paths cut to their last part and temporary names to one word."""
    return _TEMPORARY.sub("temporary", _PATH.sub("", text))[:_NAME]


class Texts:
    """Interns the texts that are kept, made neutral."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = strings
        self._kept: dict[str, int] = {}

    def __call__(self, index: int) -> int:
        """Return the new index of an old one; -1 stands for none."""
        if index < 0:
            return -1
        return self._kept.setdefault(neutral(self._strings[index]), len(self._kept))

    def all(self) -> tuple[str, ...]:
        """Return the texts by index."""
        return tuple(self._kept)


def mapped(column: bytes, change: Callable[[int], int]) -> bytes:
    """Return a packed column with each value changed."""
    return pack(map(change, unpack(column)))


def spans(trace: Trace, text: Texts) -> Spans:
    """Return the spans without details."""
    old = trace.spans
    none = pack(-1 for _ in unpack(old.start))
    return replace(old, source=mapped(old.source, text), name=mapped(old.name, text), detail=none)


def events(trace: Trace, text: Texts) -> Events:
    """Return the events that attribution reads."""
    old = trace.events
    kinds = [trace.strings[kind] for kind in unpack(old.kind)]
    keep = [i for i, kind in enumerate(kinds) if kind in EVENTS]
    chosen = {
        name: pack(unpack(getattr(old, name))[i] for i in keep) for name in old.__struct_fields__
    }
    chosen |= {name: mapped(chosen[name], text) for name in ("kind", "name")}
    return Events(**chosen)


def frames(trace: Trace, text: Texts, around: int | None) -> tuple[Frames, bytes]:
    """Return the frames in use, and for each sample the new number of its stack."""
    old = trace.frames
    names = list(zip(unpack(old.library), unpack(old.symbol), strict=True))
    shorter = {} if around is None else {stack: short(trace, stack, around) for stack in old.stacks}
    numbers: dict[tuple[int, int], int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    samples = []
    for index in unpack(trace.samples.stack):
        stack = old.stacks[index]
        own = tuple(
            numbers.setdefault(names[frame], len(numbers)) for frame in shorter.get(stack, stack)
        )
        samples.append(stacks.setdefault(own, len(stacks)))
    library, symbol = (pack(text(pair[side]) for pair in numbers) for side in (0, 1))
    return Frames(library=library, symbol=symbol, stacks=tuple(stacks)), pack(samples)


def short(trace: Trace, stack: tuple[int, ...], around: int) -> tuple[int, ...]:
    """Return the leaf of a stack, and the first frame of each verdict with its neighbours."""
    library, symbol = unpack(trace.frames.library), unpack(trace.frames.symbol)
    seen: set[object] = set()
    keep = {0}
    for place, frame in enumerate(stack):
        where, what = (trace.strings[i] if i >= 0 else "" for i in (library[frame], symbol[frame]))
        found = classify(where, what)
        said = {("mark", bit) for bit in range(64) if found.marks >> bit & 1}
        said |= {("leaf",)} if found.leaf else set()
        said |= {("call",)} if found.call else set()
        if said - seen:
            keep.update(range(place - around, place + around + 1))
        seen |= said
    return tuple(frame for place, frame in enumerate(stack) if place in keep)


def reduce(trace: Trace, around: int | None = None) -> Trace:
    """Return what attribution reads of ``trace``."""
    text = Texts(trace.strings)
    table, stacks = frames(trace, text, around)
    device = trace.device
    return replace(
        trace,
        arm="command",
        processes=tuple(replace(p, argv=words(p.argv)) for p in trace.processes),
        spans=spans(trace, text),
        device=replace(device, kind=mapped(device.kind, text), name=mapped(device.name, text)),
        samples=replace(trace.samples, stack=stacks),
        frames=table,
        events=events(trace, text),
        sources=tuple(replace(s, reason=neutral(s.reason)) for s in trace.sources),
        info={k: v for k, v in trace.info.items() if k.startswith(("cuda.", "perf."))},
        strings=text.all(),
        tracks=tuple(Track(pid=t.pid, tid=t.tid, main=t.main) for t in trace.tracks),
    )


def words(argv: Iterable[str]) -> tuple[str, ...]:
    """Return a command without folders and without code."""
    return tuple(Path(neutral(word)).name[:60] for word in argv if "\n" not in word)


def ended(trace: Trace, end: int) -> Trace:
    """Return what began before ``end`` ns."""

    def before(table: Spans | DeviceOps | OffCpu | Events | Samples, key: str) -> dict[str, bytes]:
        keep = [i for i, time in enumerate(unpack(getattr(table, key))) if time < end]
        names = [n for n in table.__struct_fields__ if isinstance(getattr(table, n), bytes)]
        return {n: pack(map(unpack(getattr(table, n)).__getitem__, keep)) for n in names}

    return replace(
        trace,
        processes=tuple(p for p in trace.processes if p.start_ns < end),
        spans=Spans(**before(trace.spans, "start")),
        device=DeviceOps(**before(trace.device, "start")),
        samples=replace(trace.samples, **before(trace.samples, "time")),
        off_cpu=OffCpu(**before(trace.off_cpu, "start")),
        events=Events(**before(trace.events, "time")),
    )


def bare(launch: Launch) -> Launch:
    """Return the launch with its processes and executions alone."""

    def process(old: Process) -> Process:
        plain = replace(old, argv=words(old.argv), executable=neutral(old.executable))
        return replace(plain, stretches=(), imports=())

    return Launch(
        index=launch.index,
        round=launch.round,
        arm="command",
        kind=launch.kind,
        wall_ns=launch.wall_ns,
        processes=tuple(map(process, launch.processes)),
        executions=launch.executions,
    )


def plain(series: Series) -> Series:
    """Return a series whose sites have file names alone."""

    def site(old: Site | None) -> Site | None:
        return old and replace(old, file=Path(old.file).name)

    stack = tuple(replace(old, file=Path(old.file).name) for old in series.stack)
    return replace(series, start=site(series.start), end=site(series.end), stack=stack)


def sums(trace: Trace, launch: Launch, series: Sequence[Series]) -> list[object]:
    """Return the nanoseconds of each cause in each ledger but that of the whole launch."""
    return [
        (led.scope, led.series, led.total_ns, sorted((li.cause, li.ns) for li in led.lines))
        for led in attribute(trace, launch, series=series)
        if led.scope != "launch"
    ]


def of_first_series(launch: Launch, series: Sequence[Series]) -> tuple[Launch, list[Series], int]:
    """Return the launch up to the last run of its first series, that series, and the moment."""
    first = min(launch.executions, key=lambda execution: execution.start_ns).series
    runs = tuple(e for e in launch.executions if e.series == first)
    end = max(max(run.end_ns, run.ready_ns or 0) for run in runs)
    return replace(launch, executions=runs, wall_ns=end), [s for s in series if s.id == first], end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("name")
    parser.add_argument("--launch", type=int, help="index; default: the first traced one")
    parser.add_argument("--first-series", action="store_true")
    parser.add_argument("--frames", type=int)
    parser.add_argument("--into", type=Path, default=DATA)
    options = parser.parse_args()
    result = read_result(options.result / "result.json")
    launch = next(
        each for each in result.launches if each.trace and options.launch in (None, each.index)
    )
    whole, series = load_trace(options.result / launch.trace), list(result.series)
    wanted = sums(whole, launch, series)
    small = whole
    if options.first_series:
        launch, series, end = of_first_series(launch, series)
        small = ended(whole, end)
    small, slim = reduce(small, options.frames), bare(launch)
    found = sums(small, slim, list(map(plain, series)))
    if not found or any(each not in wanted for each in found):
        raise SystemExit("the reduced trace gives other ledgers: something was left out")
    target = options.into / f"{options.name}.trace.gz"
    target.write_bytes(gzip.compress(msgspec.msgpack.encode(small), 9, mtime=0))
    about = msgspec.json.encode({"launch": slim, "series": list(map(plain, series))})
    target.with_name(f"{options.name}.json").write_bytes(msgspec.json.format(about, indent=1))
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
