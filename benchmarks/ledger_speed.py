"""Speed and memory of the ledger on generated traces.

Usage: ledger_speed.py [RECORDS ...]    (default: 100000 1000000)

Each size runs in a process of its own. The budget: 1,000,000 records in at most 5 s and 1 GiB,
and time that grows linearly, so that ten times the records take about ten times as long.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time

from coldsoak import ledger
from coldsoak.model.result import Execution, Launch, Process
from coldsoak.model.trace import (
    DeviceOps,
    Events,
    Frames,
    OffCpu,
    Samples,
    Spans,
    Trace,
    TraceProcess,
    Track,
    pack,
)

PID = 1000
THREADS = 8
MIX = {"spans": 0.55, "samples": 0.25, "device": 0.1, "off": 0.07, "events": 0.03}
"""Shares of the kinds of records: what a traced first run of a framework on a GPU gives."""
LIBRARIES = (
    ("[kernel]", ("exc_page_fault", "do_syscall_64", "vfs_read")),
    ("libc.so.6", ("malloc", "memcpy", "")),
    ("libpython3.12.so", ("_PyEval_EvalFrameDefault", "gc_collect_main")),
    ("libtorch_cpu.so", ("at::native::add", "c10::Dispatcher::call")),
    ("ld-linux-x86-64.so.2", ("do_lookup_x",)),
    ("libcublas.so.13", ("cublasCreate_v2",)),
)
RUNS = 50


def generate(records: int, seed: int = 1) -> tuple[Trace, Launch]:
    """Return a trace with about ``records`` records and its launch."""
    rng = random.Random(seed)
    counts = {kind: int(share * records) for kind, share in MIX.items()}
    strings: list[str] = []
    ids: dict[str, int] = {}

    def text(value: str) -> int:
        if value not in ids:
            ids[value] = len(strings)
            strings.append(value)
        return ids[value]

    length = counts["spans"] * 20_000 // THREADS
    spans = make_spans(rng, counts["spans"], length, text)
    frames = [(text(lib), text(symbol)) for lib, symbols in LIBRARIES for symbol in symbols]
    stacks = tuple(
        tuple(rng.randrange(len(frames)) for _ in range(rng.randint(5, 30)))
        for _ in range(max(100, counts["samples"] // 20))
    )
    trace = Trace(
        launch=0,
        arm="generated",
        tracks=tuple(Track(pid=PID, tid=PID + i, main=i == 0) for i in range(THREADS)),
        processes=(TraceProcess(pid=PID, ppid=1, argv=("python", "job.py"), agent=True),),
        spans=spans,
        device=make_device(rng, counts["device"], length, text),
        samples=make_samples(rng, counts["samples"], length, len(stacks)),
        frames=Frames(
            library=pack(lib for lib, _ in frames),
            symbol=pack(symbol for _, symbol in frames),
            stacks=stacks,
        ),
        off_cpu=make_off(rng, counts["off"], length),
        events=make_events(rng, counts["events"], length, text),
        strings=tuple(strings),
    )
    return trace, make_launch(length)


def make_spans(rng, count, length, text):
    """Imports four deep at the start, then runtime calls around driver calls."""
    rows = []
    for thread in range(THREADS):
        now, each = 0, count // THREADS
        for i in range(each // 4):
            width = rng.randint(20_000, 60_000)
            if i < each // 40:
                source = name = "import"
                name = f"package.module{i}"
                chain = [(source, name)] * 3 + [("import.exec", name)]
            else:
                api = rng.choice(("cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaGetDevice"))
                chain = [
                    ("torch", "compile_inner"),
                    ("cuda.runtime", api),
                    ("cuda.driver", "cuLaunchKernel"),
                    ("cuda.overhead", "LAZY_FUNCTION_LOADING"),
                ]
            for depth, (source, name) in enumerate(chain):
                inset = depth * 1_000
                link = thread * each + i if source.startswith("cuda") else 0
                row = (now + inset, now + width - inset, thread, text(source), text(name), -1, link)
                rows.append(row)
            now += width + rng.randint(0, 2 * (length * 4 // max(each, 1) - 40_000))
    start, end, track, source, name, detail, link = zip(*rows, strict=True)
    return Spans(
        start=pack(start),
        end=pack(end),
        track=pack(track),
        source=pack(source),
        name=pack(name),
        detail=pack(detail),
        correlation=pack(link),
    )


def make_device(rng, count, length, text):
    kinds = [text(kind) for kind in ("kernel", "kernel", "kernel", "HtoD", "DtoH", "memset")]
    names = [text(f"_ZN6kernel{i}Ev") for i in range(200)]
    start = sorted(rng.randrange(length) for _ in range(count))
    return DeviceOps(
        start=pack(start),
        end=pack(begin + rng.randint(1_000, 40_000) for begin in start),
        pid=pack([PID] * count),
        device=pack([0] * count),
        stream=pack(rng.randrange(4) for _ in start),
        kind=pack(rng.choice(kinds) for _ in start),
        name=pack(rng.choice(names) for _ in start),
        bytes_moved=pack(rng.randrange(1 << 20) for _ in start),
        correlation=pack(range(1, count + 1)),
    )


def make_samples(rng, count, length, stacks):
    return Samples(
        time=pack(sorted(rng.randrange(length) for _ in range(count))),
        track=pack(rng.randrange(THREADS) for _ in range(count)),
        stack=pack(rng.randrange(stacks) for _ in range(count)),
    )


def make_off(rng, count, length):
    step = length // max(count, 1)
    starts = [i * step for i in range(count)]
    return OffCpu(
        start=pack(starts),
        end=pack(begin + rng.randint(1, step) for begin in starts),
        track=pack(rng.randrange(THREADS) for _ in starts),
        runnable=pack(int(rng.random() < 0.1) for _ in starts),
    )


def make_events(rng, count, length, text):
    kinds = [text("fault.major"), text("read_bytes"), text("alloc")]
    return Events(
        time=pack(sorted(rng.randrange(length) for _ in range(count))),
        track=pack(rng.randrange(THREADS) for _ in range(count)),
        kind=pack(rng.choice(kinds) for _ in range(count)),
        value=pack(rng.randrange(1 << 24) for _ in range(count)),
        name=pack([-1] * count),
    )


def make_launch(length):
    step = length // (RUNS + 10)
    runs = [(10 + i) * step for i in range(RUNS)]
    return Launch(
        index=0,
        round=1,
        arm="generated",
        kind="traced",
        wall_ns=length,
        processes=(
            Process(
                pid=PID,
                ppid=1,
                argv=("python", "job.py"),
                how="script",
                python="3.12",
                executable="python",
                start_ns=0,
                ready_ns=10_000_000,
                agent_ns=1_000_000,
            ),
        ),
        executions=tuple(
            Execution(
                series=f"series {i % 5}",
                run=i // 5,
                pid=PID,
                thread=PID,
                start_ns=start,
                end_ns=start + step * 9 // 10,
                seconds=step * 0.9e-9,
            )
            for i, start in enumerate(runs)
        ),
    )


def one(records: int) -> None:
    """Print records, seconds and peak memory of one size."""
    trace, launch = generate(records)
    start, used = time.perf_counter(), time.process_time()
    ledgers = ledger.attribute(trace, launch)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert all(
        sum(line.ns for line in each.lines) + each.measurement_ns == each.total_ns
        for each in ledgers
    )
    print(records, seconds, used, peak * 1024)


def main(sizes: list[int]) -> None:
    """Run each size in a process of its own and print the table."""
    print("   records  wall s   CPU s  peak MiB  ratio of CPU time (import of NumPy included)")
    last = 0.0
    for size in sizes:
        answer = subprocess.run(
            [sys.executable, __file__, "--one", str(size)],
            check=True,
            capture_output=True,
            text=True,
        )
        wall, used, peak = (float(word) for word in answer.stdout.split()[1:])
        ratio = f"{used / last:6.1f}" if last else ""
        last = used
        print(f"{size:>10} {wall:7.2f} {used:7.2f} {peak / 2**20:9.0f} {ratio}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]))
    else:
        main([int(size) for size in sys.argv[1:]] or [100_000, 1_000_000])
