"""From a trace: functions that were compiled again, and who made the driver compile PTX."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from coldsoak.ledger.arrays import column, index_of, owners
from coldsoak.model.facts import Repeat

if TYPE_CHECKING:
    from coldsoak.model.result import Launch
    from coldsoak.model.trace import Trace

__all__ = ["explained", "jit_callers", "modules", "repeats", "shared_misses"]

REPEATS = 24
STARTS = 8
DETAILS = 4
JIT_SPANS = 256
"""Compilations of PTX that are looked into for their caller."""

_COMPILING = {
    ("jax", "trace"),
    ("jax", "backend_compile"),
    ("torch", "dynamo"),
    ("torch", "recompile"),
    ("tensorflow", "trace"),
    ("triton", "compile"),
    ("triton", "autotune"),
}
_FUNCTION = re.compile(r"(?:^|, )(?:fun_name|fn_name|co_name)=([^,]+)")
_COMPILER = ("libcuda.so", "libnvidia-ptxjitcompiler", "libc.so", "libpthread", "ld-linux", "[")


def repeats(trace: Trace) -> tuple[Repeat, ...]:
    """Return the functions with more than one tracing or compiling span in one process."""
    text, spans = trace.strings, trace.spans
    pids = [track.pid for track in trace.tracks]
    found: dict[tuple[int, str, str, str], list[tuple[int, int, str]]] = defaultdict(list)
    sources = {name for name, _ in _COMPILING}
    wanted = [i for i, name in enumerate(text) if name in sources]
    chosen = np.flatnonzero(np.isin(column(spans.source), wanted) & (column(spans.detail) >= 0))
    columns = (spans.source, spans.name, spans.start, spans.end, spans.track, spans.detail)
    for source, name, start, end, track, detail in zip(
        *(column(c)[chosen].tolist() for c in columns), strict=True
    ):
        if (text[source], text[name]) not in _COMPILING:
            continue
        match = _FUNCTION.search(text[detail])
        if match:
            key = (pids[track], text[source], text[name], match[1])
            found[key].append((start, end - start, text[detail]))
    again = [_repeat(key, sorted(rows)) for key, rows in found.items() if len(rows) > 1]
    again.sort(key=lambda one: (-one.ns, one.source, one.name, one.function))
    return tuple(again[:REPEATS])


def _repeat(key: tuple[int, str, str, str], rows: list[tuple[int, int, str]]) -> Repeat:
    _, source, name, function = key
    later = rows[1:]
    return Repeat(
        source=source,
        name=name,
        function=function,
        count=len(rows),
        ns=sum(ns for _, ns, _ in later),
        starts=tuple(start for start, _, _ in later[:STARTS]),
        details=tuple(dict.fromkeys(detail for _, _, detail in later))[:DETAILS],
    )


_MISSED = re.compile(r"(?:hit=False|cache_state=miss).*?\bkey=([^,]+)")
_SHARED = 64


def shared_misses(trace: Trace) -> dict[str, int]:
    """Return the cache keys that more than one process missed, with the number of processes."""
    pids = [track.pid for track in trace.tracks]
    spans = trace.spans
    who: dict[str, set[int]] = defaultdict(set)
    keys = {i: match[1] for i, text in enumerate(trace.strings) if (match := _MISSED.search(text))}
    chosen = np.flatnonzero(np.isin(column(spans.detail), sorted(keys)))
    rows = (column(c)[chosen].tolist() for c in (spans.track, spans.detail))
    for track, detail in zip(*rows, strict=True):
        who[keys[detail]].add(pids[track])
    shared = {key: len(found) for key, found in who.items() if len(found) > 1}
    most = sorted(shared, key=lambda key: (-shared[key], key))[:_SHARED]
    return {key: shared[key] for key in most}


def modules(trace: Trace, launch: Launch) -> dict[str, int]:
    """Return how many modules run 0 of each series imported."""
    chosen = np.flatnonzero(column(trace.spans.source) == index_of(trace, "import"))
    owner, _ = owners(trace, column(trace.spans.track)[chosen])
    start = column(trace.spans.start)[chosen]
    counts = {
        run.series: int(((owner == run.pid) & (start >= run.start_ns) & (start < run.end_ns)).sum())
        for run in launch.executions
        if run.run == 0
    }
    return {series: count for series, count in counts.items() if count}


def jit_callers(trace: Trace) -> dict[str, int]:
    """Return host samples inside the driver's PTX compilations, by the library that called it.

    The library is the first on the stack, from the leaf on, that is neither the driver nor a part
    of the system.
    """
    spans, samples = trace.spans, trace.samples
    jit, compiles = index_of(trace, "cuda.jit"), index_of(trace, "COMPILE")
    chosen = np.flatnonzero((column(spans.source) == jit) & (column(spans.name) == compiles))
    count: Counter[str] = Counter()
    moment, track, stack = column(samples.time), column(samples.track), column(samples.stack)
    begins, ends, tracks = column(spans.start), column(spans.end), column(spans.track)
    for index in chosen[:JIT_SPANS].tolist():
        inside = (track == tracks[index]) & (moment >= begins[index]) & (moment < ends[index])
        for number in stack[np.flatnonzero(inside)].tolist():
            name = _caller(trace, number)
            if name:
                count[name] += 1
    return dict(count.most_common(8))


def _caller(trace: Trace, number: int) -> str:
    libraries = column(trace.frames.library)
    if not 0 <= number < len(trace.frames.stacks):
        return ""
    for frame in trace.frames.stacks[number]:
        index = int(libraries[frame])
        name = PurePath(trace.strings[index]).name if index >= 0 else ""
        if name and not name.startswith(_COMPILER):
            return name
    return ""


_EXPLAINED = re.compile(
    r"^\s*for (?P<name>\S+) defined at .*?\n(?P<body>(?:\s+.*\n?)*)", re.MULTILINE
)
_REASONS = 8


def explained(log: str) -> tuple[str, ...]:
    """Return why JAX traced functions again, as ``step: at x, now f32[] and before …``.

    JAX prints it when JAX_EXPLAIN_CACHE_MISSES is set; the lines with the differences begin with a
    star.
    """
    found = []
    for match in _EXPLAINED.finditer(log):
        stars = [line.strip() for line in match["body"].splitlines() if "* " in line]
        found += [f"{match['name']}: {star[2:].partition('https:')[0]}" for star in stars]
    return tuple(dict.fromkeys(found))[:_REASONS]
