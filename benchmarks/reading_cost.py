"""What a clock reading costs in a timed launch, over the bare call.

Runs the same functions rewritten and plain, in turns in one process with a real agent that writes
to a spool, and prints medians, ratios and nanoseconds for each clock, in a function called from a
module's function (two frames), in a function that is called for each pair, and five calls deep,
with values that name a case.

Usage: ``python benchmarks/reading_cost.py``.
"""

from __future__ import annotations

import _thread
import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

INJECT = Path(__file__).parents[1] / "src" / "coldsoak" / "inject"
ROUNDS, PAIRS = 60, 40
BUDGET_NS = 1000

PROGRAM = """
import time, datetime
def readings_{name}(n, device="cpu"):
    begin = tick()
    for _ in range(n):
        t = {clock}()
        u = {clock}()
    return (tick() - begin) / n, 0.0
def regions_{name}(n, device="cpu"):
    total = 0.0
    begin = tick()
    for _ in range(n):
        t = {clock}()
        u = {clock}()
        total += in_seconds(u - t)
    return (tick() - begin) / n, total / n
def once_{name}(shape, device):
    t = {clock}()
    u = {clock}()
    return in_seconds(u - t)
def calls_{name}(n, device="cpu"):
    total = 0.0
    begin = tick()
    for _ in range(n):
        total += once_{name}((64, 64), device)
    return (tick() - begin) / n, total / n
def deep_{name}(n, depth=3):
    return deep_{name}(n, depth - 1) if depth else regions_{name}(n)
"""
CLOCKS = {
    "time": "time.time",
    "perf_counter": "time.perf_counter",
    "perf_counter_ns": "time.perf_counter_ns",
    "datetime": "datetime.datetime.now",
}
SHAPES = {
    "readings": "two readings",
    "regions": "and their difference",
    "calls": "and a call for each pair",
    "deep": "and five frames",
}


def in_seconds(difference) -> float:
    if isinstance(difference, float):
        return difference
    return difference / 1e9 if isinstance(difference, int) else difference.total_seconds()


def sample(function) -> tuple[float, float]:
    """Run on a bare thread, so that no frame of this driver is on the stack.

    Returns the seconds that a pair takes in all, and that the program itself sees between its two
    readings.
    """
    done = _thread.allocate_lock()
    done.acquire()
    result = []

    def report(value) -> None:
        result.append(value)
        done.release()

    _thread.start_new_thread(function.__globals__["main"], (function, PAIRS, report))
    done.acquire()
    return result[0]


def measure() -> None:
    from coldsoak_agent import core, readings, rewrite

    path = str(Path(os.environ["COLDSOAK_SPOOL"]) / "program.py")
    source = "def main(function, n, report):\n    report(function(n))\n" + "".join(
        PROGRAM.format(name=name, clock=clock) for name, clock in CLOCKS.items()
    )
    Path(path).write_text(source)
    hooked: dict = {"in_seconds": in_seconds, "tick": time.perf_counter}
    plain: dict = dict(hooked)
    exec(rewrite.compile_user(source.encode(), path, "program"), hooked)
    exec(compile(source, path, "exec"), plain)
    print("ns, medians of interleaved rounds:")
    print(f"{'':40}{'bare':>7}{'hooked':>8}{'ratio':>7}{'inside':>8}{'a reading':>11}")
    insides, wholes, written = [], [], []
    for shape, words in SHAPES.items():
        for name in CLOCKS:
            pairs = []
            for _ in range(ROUNDS):
                functions = plain[f"{shape}_{name}"], hooked[f"{shape}_{name}"]
                pairs.append(tuple(map(sample, functions)))
                begin = time.perf_counter()
                readings.flush()
                core.agent.spool.flush()
                written.append((time.perf_counter() - begin) / PAIRS / 2)
            bare = statistics.median(p[0] for p, _ in pairs) * 1e9
            ours = statistics.median(h[0] for _, h in pairs) * 1e9
            inside = statistics.median(h[1] - p[1] for p, h in pairs) * 1e9
            insides += [inside / 2] if shape != "readings" else []
            wholes.append((ours - bare) / 2)
            shown = f"{inside:8.0f}" if shape != "readings" else f"{'':8}"
            print(
                f"{name + ', ' + words:40}{bare:7.0f}{ours:8.0f}{ours / bare:7.1f}"
                f"{shown}{(ours - bare) / 2:11.0f}"
            )
    print("inside: what the hooks add between the two readings, that is to the region itself.")
    print("a reading: all that the hooks add to a pair, halved.")
    print(f"and {statistics.median(written) * 1e9:.0f} ns later, when it is written.")
    for what, values in (("inside a region", insides), ("in all", wholes)):
        median, worst = statistics.median(values) / BUDGET_NS, max(values) / BUDGET_NS
        print(f"of {BUDGET_NS} ns a reading, {what}: median {median:.2f}, worst {worst:.2f}")


def unmeasured_region() -> None:
    """Print what ``with coldsoak.region(...)`` costs in a process that is not measured."""
    from coldsoak.regions import region

    def declared() -> None:
        with region("name", shape=(50, 50)):
            pass

    def nothing() -> None:
        pass

    rounds = [
        [min(timeit.repeat(function, number=20_000, repeat=3)) / 20_000 for function in pair]
        for pair in [(nothing, declared)] * 7
    ]
    cost = statistics.median(ours - bare for bare, ours in rounds) * 1e9
    print(f"a declared region in a process that is not measured: {cost:.0f} ns")


if __name__ == "__main__":
    if "COLDSOAK_SPOOL" in os.environ:
        measure()
    else:
        unmeasured_region()
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "COLDSOAK_SPOOL": folder, "PYTHONPATH": str(INJECT)}
            sys.exit(subprocess.call([sys.executable, __file__], env=environment))
