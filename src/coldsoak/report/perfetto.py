"""A traced launch as a file that opens in Perfetto (https://ui.perfetto.dev).

The format is the Trace Event JSON that Chrome introduced and Perfetto reads: complete events
(``X``) on threads, flows (``s``/``f``) from a call to the device work that it queued, counters
(``C``), and metadata (``M``). Times in it are microseconds since the spawn of the launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from coldsoak.ledger.rules.spans import span_label, verdict
from coldsoak.model.causes import Cause, group_of
from coldsoak.model.trace import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from coldsoak.model.ledger import Ledger
    from coldsoak.model.result import Launch, Result
    from coldsoak.model.trace import Trace

__all__ = ["encode", "events", "write"]

_Event = dict[str, Any]

_COLOURS = {
    "process": "grey",
    "driver": "terrible",
    "library": "bad",
    "compiler": "yellow",
    "memory": "rail_load",
    "work": "good",
    "tool": "white",
    "rest": "generic_work",
}
"""Chrome's reserved colour names, by group of causes."""

REGIONS_PID, LEDGER_PID, DEVICE_PID = 1_000_000_001, 1_000_000_002, 1_000_000_100
"""Process numbers of the tracks that are no processes; above any real one (2**22)."""
_COUNTED = {"fault.minor": "page faults", "fault.major": "page faults", "read_bytes": "bytes read"}


def write(trace: Trace, launch: Launch, ledgers: Sequence[Ledger], path: Path) -> None:
    """Write the trace of ``launch`` with its regions and ledgers to ``path``.

    Raises:
        OSError: the file cannot be written.

    """
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(_document(trace, launch, ledgers, {}))
    partial.replace(path)


def encode(trace: Trace, launch: Launch, result: Result) -> bytes:
    """Return the file's content, with the ledgers and the names that ``result`` has."""
    ledgers = [each for each in result.ledgers if (each.launch, each.arm) == _key(launch)]
    labels = {each.id: each.label for each in result.series}
    return _document(trace, launch, ledgers, labels)


def _key(launch: Launch) -> tuple[int, str]:
    return launch.index, launch.arm


def _document(
    trace: Trace, launch: Launch, ledgers: Sequence[Ledger], labels: Mapping[str, str]
) -> bytes:
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"launch": launch.index, "arm": launch.arm, "times": "since the spawn"},
        "traceEvents": list(events(trace, launch, ledgers, labels)),
    }
    return msgspec.json.encode(document)


def events(
    trace: Trace, launch: Launch, ledgers: Sequence[Ledger], labels: Mapping[str, str]
) -> Iterator[_Event]:
    """Yield all events; ``labels`` names series by their id, others keep it."""
    yield from _processes(trace)
    yield from _regions(launch, labels)
    yield from _ledgers(ledgers, labels)
    yield from _spans(trace)
    yield from _children(trace)
    yield from _off_cpu(trace)
    yield from _device(trace)
    yield from _counters(trace)


def _meta(what: str, pid: int, tid: int, **args: Any) -> _Event:  # noqa: ANN401 - JSON values
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}


def _complete(
    name: str,
    category: str,
    place: tuple[int, int],
    start: int,
    end: int,
    **args: Any,  # noqa: ANN401
) -> _Event:
    pid, tid = place
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": pid,
        "tid": tid,
        "ts": start / 1e3,
        "dur": max(0, end - start) / 1e3,
        "args": args,
    }


def _coloured(event: _Event, cause: Cause) -> _Event:
    group = group_of(cause)
    return {**event, "cat": f"{group},{cause.value}", "cname": _COLOURS[group]}


def _processes(trace: Trace) -> Iterator[_Event]:
    named = {p.pid: " ".join(p.argv)[:200] or f"process {p.pid}" for p in trace.processes}
    pids = dict.fromkeys([*named, *(track.pid for track in trace.tracks)])
    for order, pid in enumerate(pids):
        yield _meta("process_name", pid, 0, name=named.get(pid, f"process {pid}"))
        yield _meta("process_sort_index", pid, 0, sort_index=10 + order)
    for track in trace.tracks:
        name = track.name or ("main thread" if track.main else f"thread {track.tid}")
        yield _meta("thread_name", track.pid, track.tid, name=name if track.tid else "process")
        if track.main:
            yield _meta("thread_sort_index", track.pid, track.tid, sort_index=-1)


def _regions(launch: Launch, labels: Mapping[str, str]) -> Iterator[_Event]:
    yield _meta("process_name", REGIONS_PID, 0, name="regions")
    yield _meta("process_sort_index", REGIONS_PID, 0, sort_index=0)
    series = {name: i for i, name in enumerate(dict.fromkeys(e.series for e in launch.executions))}
    for name, tid in series.items():
        yield _meta("thread_name", REGIONS_PID, tid, name=labels.get(name, name))
    for each in launch.executions:
        place = REGIONS_PID, series[each.series]
        yield _complete(
            f"run {each.run}", "region", place, each.start_ns, each.end_ns, seconds=each.seconds
        )


def _ledgers(ledgers: Sequence[Ledger], labels: Mapping[str, str]) -> Iterator[_Event]:
    """One bar per ledger, cut into its causes; the largest first, not in order of time."""
    yield _meta("process_name", LEDGER_PID, 0, name="ledgers (sums, not moments)")
    yield _meta("process_sort_index", LEDGER_PID, 0, sort_index=1)
    for tid, ledger in enumerate(ledgers):
        name = f"{ledger.scope} {labels.get(ledger.series, ledger.series)}".strip()
        yield _meta("thread_name", LEDGER_PID, tid, name=name)
        now = ledger.start_ns
        parts = [(line.cause, line.ns) for line in ledger.lines]
        for cause, length in [*parts, (Cause.MEASUREMENT, ledger.measurement_ns)]:
            if length:
                event = _complete(cause.value, "", (LEDGER_PID, tid), now, now + length)
                yield _coloured(event, cause)
            now += length


def _spans(trace: Trace) -> Iterator[_Event]:
    table, strings = trace.spans, trace.strings
    columns = (table.start, table.end, table.track, table.source, table.name, table.detail)
    rows = zip(*map(unpack, (*columns, table.correlation)), strict=True)
    work = trace.device
    linked = set(zip(unpack(work.pid), unpack(work.correlation), strict=True))
    for start, end, track, source, name, detail, link in rows:
        where, origin = trace.tracks[track], strings[source]
        if origin == "child":
            continue  # the process has tracks of its own
        place = where.pid, where.tid
        args = {"source": origin, **({"detail": strings[detail]} if detail >= 0 else {})}
        label = span_label(origin, strings[name])
        event = _complete(label, "", place, start, end, **args)
        yield _coloured(event, verdict(origin, strings[name]).cause)
        if link and origin in {"cuda.driver", "cuda.runtime"} and (where.pid, link) in linked:
            linked.discard((where.pid, link))
            yield _flow("s", place, start, where.pid, link)


def _flow(phase: str, place: tuple[int, int], ns: int, pid: int, link: int) -> _Event:
    event = {
        "ph": phase,
        "name": "queued",
        "cat": "queued",
        "id": f"{pid}.{link}",
        "pid": place[0],
        "tid": place[1],
        "ts": ns / 1e3,
    }
    return {**event, "bp": "e"} if phase == "f" else event


def _children(trace: Trace) -> Iterator[_Event]:
    for process in trace.processes:
        if process.agent or process.end_ns is None:
            continue
        name = " ".join(process.argv)[:120] or f"process {process.pid}"
        place = process.pid, process.pid
        event = _complete(name, "", place, process.start_ns, process.end_ns, parent=process.ppid)
        yield _coloured(event, Cause.CHILD_PROCESS)


def _off_cpu(trace: Trace) -> Iterator[_Event]:
    """Preemptions only: sleeps have spans that say why."""
    table = trace.off_cpu
    rows = zip(*map(unpack, (table.start, table.end, table.track, table.runnable)), strict=True)
    for start, end, track, runnable in rows:
        if runnable:
            where = trace.tracks[track]
            event = _complete("preempted", "", (where.pid, where.tid), start, end)
            yield _coloured(event, Cause.RUN_QUEUE)


def _device(trace: Trace) -> Iterator[_Event]:
    table, strings = trace.device, trace.strings
    columns = (table.start, table.end, table.pid, table.device, table.stream, table.kind)
    rows = zip(
        *map(unpack, (*columns, table.name, table.bytes_moved, table.correlation)), strict=True
    )
    calls = set(zip(_pids_of_spans(trace), unpack(trace.spans.correlation), strict=True))
    tracks: dict[tuple[int, int, int, bool], tuple[int, int]] = {}
    owners: dict[tuple[int, int], int] = {}
    for start, end, pid, device, stream, kind, name, moved, link in rows:
        copies = strings[kind] != "kernel"
        key = pid, device, stream, copies
        if key not in tracks:
            owner = owners.setdefault((pid, device), DEVICE_PID + len(owners))
            tracks[key] = owner, len(tracks) + 1
            yield from _name_device_track(tracks[key], key)
        args = {"kind": strings[kind], **({"bytes": moved} if moved else {})}
        title = strings[name] if name >= 0 else strings[kind]
        yield _complete(title, strings[kind], tracks[key], start, end, **args)
        if link and (pid, link) in calls:
            yield _flow("f", tracks[key], start, pid, link)


def _pids_of_spans(trace: Trace) -> Iterator[int]:
    return (trace.tracks[track].pid for track in unpack(trace.spans.track))


def _name_device_track(place: tuple[int, int], key: tuple[int, int, int, bool]) -> Iterator[_Event]:
    pid, device, stream, copies = key
    yield _meta("process_name", place[0], 0, name=f"GPU {device} (process {pid})")
    yield _meta("process_sort_index", place[0], 0, sort_index=5)
    what = "copies and memsets" if copies else "kernels"
    yield _meta("thread_name", *place, name=f"stream {stream} {what}")


def _counters(trace: Trace) -> Iterator[_Event]:
    table, strings = trace.events, trace.strings
    totals: dict[tuple[int, str], int] = {}
    rows = zip(*map(unpack, (table.time, table.track, table.kind, table.value)), strict=True)
    for time, track, kind, value in sorted(rows):
        name = _COUNTED.get(strings[kind])
        if name is None:
            continue
        pid = trace.tracks[track].pid
        totals[pid, name] = totals.get((pid, name), 0) + value
        yield {
            "ph": "C",
            "name": name,
            "pid": pid,
            "tid": 0,
            "ts": time / 1e3,
            "args": {name: totals[pid, name]},
        }
