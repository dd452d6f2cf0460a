"""Turn a recording of the CUPTI prototype into a trace and a launch, for the tests of the ledger.

Usage: convert_spike_trace.py RECORDING.json.gz NAME FOLDER

Writes ``NAME.trace.gz`` and ``NAME.launch.json``. The recording's clock readings become regions;
pairs of readings inside JAX's own source (lines 190 and 200 of its dispatch module, where it times
trace, lower and compile in turn) become spans. The prototype kept truncated thread ids: the most
frequent one is the main thread.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from coldsoak.launch.columns import Columns
from coldsoak.model.result import Execution, Launch, Process
from coldsoak.model.trace import Trace, TraceProcess

COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH"}
JIT = {1: "CACHE_LOAD", 2: "CACHE_STORE", 3: "COMPILE"}
JAX_PHASES = ("trace", "lower", "backend_compile")
REGIONS: dict[str, list[tuple[str, int, int, int]]] = {
    "torch": [("loop", 5, 7, 99), ("synchronised", 12, 15, 99)],
    "tensorflow": [("loop gpu", 5, 7, 5), ("loop cpu", 5, 7, 99)],
    "cupy": [("product", 6, 6, 99)],
    "jax": [
        ("N=1000", 9, 9, 3),
        ("N=2000", 13, 13, 2),
        ("N=10000", 13, 13, 2),
        ("N=15000", 13, 13, 2),
    ],
}
"""Per recording: name of the series, line of its start, line of its end, runs at most."""


class Recording:
    """A recording with its clock on the time since the launch."""

    def __init__(self, path: Path) -> None:
        with gzip.open(path) as file:
            data: dict[str, Any] = json.load(file)
        self.records = data["recs"]
        self.reads = data["reads"]
        self.pid = data["main"]
        self.zero, *_, self.main_start, self.main_end, self.end = data["T"]
        before, device, after = data["align"][0]
        self.offset = (before + after) // 2 - device
        known = Counter(r["thread_id"] for r in self.records if "thread_id" in r)
        self.tid = {t: self.pid + i for i, (t, _) in enumerate(known.most_common())}
        if data["script"] == "t_jax.py":  # there a worker made the most calls
            first = next(r for r in self.records if r.get("api") == "cuDevicePrimaryCtxRetain")
            second = min(self.tid, key=self.tid.get)
            self.tid[second], self.tid[first["thread_id"]] = (
                self.tid[first["thread_id"]],
                self.pid,
            )

    def ns(self, record: dict[str, Any], key: str) -> int:
        """Return a moment of a record, CLOCK_MONOTONIC ns."""
        return int(record[key]) + self.offset


def columns_of(recording: Recording, name: str) -> Columns:
    """Return all records in columns."""
    columns = Columns(recording.zero)
    pid = recording.pid
    columns.track(pid, pid)
    threads = {r["correlation_id"]: r["thread_id"] for r in recording.records if "thread_id" in r}
    for record in recording.records:
        kind, link = record["k"], record.get("correlation_id", 0)
        tid = recording.tid.get(record.get("thread_id", threads.get(link)), 0)
        track = columns.track(pid, tid)
        if kind == "MEMORY2":
            what = "alloc" if record["memory_operation_type"] == 1 else "free"
            columns.event(recording.ns(record, "timestamp"), track, what, record["bytes"])
            continue
        if "start" not in record or record["start"] == 0:
            continue
        start, end = recording.ns(record, "start"), recording.ns(record, "end")
        if kind in {"DRIVER", "RUNTIME"}:
            columns.span(
                track, f"cuda.{kind.lower()}", record["api"], (start, end), correlation=link
            )
        elif kind == "OVERHEAD":
            columns.span(track, "cuda.overhead", record["api"], (start, end), correlation=link)
        elif kind == "JIT":
            label = JIT[record["jit_operation_type"]]
            columns.span(track, "cuda.jit", label, (start, end), correlation=link)
        elif kind in {"CONCURRENT_KERNEL", "MEMSET", "MEMCPY"}:
            what = {"CONCURRENT_KERNEL": "kernel", "MEMSET": "memset"}.get(kind)
            what = what or COPIES[record["copy_kind"]]
            title = record.get("name", what)[:120]
            place = (0, record["stream_id"])
            columns.device(
                pid,
                what,
                title,
                (start, end),
                place=place,
                moved=record.get("bytes", 0),
                correlation=link,
            )
    if name == "jax":
        phases(recording, columns)
    return columns


def phases(recording: Recording, columns: Columns) -> None:
    """Turn JAX's own pairs of readings into spans."""
    inner = [r for r in recording.reads if r[1] in {190, 200}]
    track = columns.track(recording.pid, recording.pid)
    for i, (begin, stop) in enumerate(zip(inner[::2], inner[1::2], strict=True)):
        columns.span(track, "jax", JAX_PHASES[i % 3], (begin[2], stop[2]))


def executions_of(recording: Recording, name: str) -> tuple[Execution, ...]:
    """Return the executions of the recording's regions."""
    reads = [r for r in recording.reads if r[1] not in {2, 59, 161, 190, 200}]
    found, at = [], 0
    for series, first, last, limit in REGIONS[name]:
        run = 0
        while at < len(reads) and run < limit:
            if reads[at][1] != first:
                if run:
                    break
                at += 1
                continue
            start, end = reads[at][2] - recording.zero, reads[at + 1][2] - recording.zero
            assert reads[at + 1][1] == last
            found.append(
                Execution(
                    series=series,
                    run=run,
                    pid=recording.pid,
                    thread=recording.pid,
                    start_ns=start,
                    end_ns=end,
                    seconds=(end - start) / 1e9,
                )
            )
            run, at = run + 1, at + 2
    return tuple(found)


def convert(path: Path, name: str, folder: Path) -> None:
    """Write the trace and the launch of one recording."""
    recording = Recording(path)
    columns = columns_of(recording, name)
    pid, zero = recording.pid, recording.zero
    trace = Trace(
        launch=0,
        arm="recorded",
        strings=columns.strings,
        tracks=columns.tracks,
        processes=(TraceProcess(pid=pid, ppid=1, argv=("python", f"{name}.py"), agent=True),),
        spans=columns.spans(),
        device=columns.device_ops(),
        events=columns.events(),
        info={"cuda.device.0": json.dumps({"name": "NVIDIA H200", "memory": 150_000_000_000})},
    )
    process = Process(
        pid=pid,
        ppid=1,
        argv=("python", f"{name}.py"),
        how="script",
        python="3.12.3",
        executable="python",
        start_ns=0,
        ready_ns=0,
        agent_ns=recording.main_start - zero,
        main_start_ns=recording.main_start - zero,
        main_end_ns=recording.main_end - zero,
    )
    launch = Launch(
        index=0,
        round=1,
        arm="recorded",
        kind="traced",
        wall_ns=recording.end - zero,
        processes=(process,),
        executions=executions_of(recording, name),
    )
    with gzip.GzipFile(folder / f"{name}.trace.gz", "wb", compresslevel=9, mtime=0) as file:
        file.write(msgspec.msgpack.encode(trace))
    (folder / f"{name}.launch.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(launch), indent=1) + b"\n"
    )


if __name__ == "__main__":
    convert(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
