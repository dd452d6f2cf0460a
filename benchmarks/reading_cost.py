"""What a clock reading costs in a timed launch, over the bare call.

Runs the same function rewritten and plain, in turns in one process with a real agent that writes
to a spool, and prints medians, ratios and nanoseconds for each clock, for one frame and for five,
with and without values that name a case. Usage: ``python benchmarks/reading_cost.py``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INJECT = Path(__file__).parents[1] / "src" / "coldsoak" / "inject"
ROUNDS, PAIRS = 60, 40

PROGRAM = """
import time, datetime
def call(function, n):
    function(n)
def module_{name}(n):
    total = 0.0
    for _ in range(n):
        t = {clock}()
        u = {clock}()
        total += in_seconds(u - t)
    return total
def case_{name}(n, device='cpu', shape=(50, 50)):
    total = 0.0
    for _ in range(n):
        t = {clock}()
        u = {clock}()
        total += in_seconds(u - t)
    return total
def deep_{name}(n, depth=3, device='cpu'):
    return deep_{name}(n, depth - 1) if depth else case_{name}(n)
"""
CLOCKS = {
    "time": "time.time",
    "perf_counter": "time.perf_counter",
    "perf_counter_ns": "time.perf_counter_ns",
    "datetime": "datetime.datetime.now",
}
SHAPES = {
    "module": "no case, 1 frame",
    "case": "device and shape, 1 frame",
    "deep": "device and shape, 5 frames",
}


def in_seconds(difference) -> float:
    if isinstance(difference, float):
        return difference
    return difference / 1e9 if isinstance(difference, int) else difference.total_seconds()


def sample(function) -> tuple[float, float]:
    """Seconds that a pair takes in all, and that the program itself sees between its readings."""
    begin = time.perf_counter()
    seen = function(PAIRS)
    return (time.perf_counter() - begin) / PAIRS, seen / PAIRS


def measure() -> None:
    from coldsoak_agent import readings, rewrite, userfiles

    userfiles._known[__file__] = False  # noqa: SLF001 - the frames of this driver are no part of the program
    path = str(Path(os.environ["COLDSOAK_SPOOL"]) / "program.py")
    source = "".join(PROGRAM.format(name=name, clock=clock) for name, clock in CLOCKS.items())
    Path(path).write_text(source)
    hooked: dict = {"in_seconds": in_seconds}
    plain: dict = {"in_seconds": in_seconds}
    exec(rewrite.compile_user(source.encode(), path, "program"), hooked)
    exec(compile(source, path, "exec"), plain)
    print("A pair of readings and their difference, ns (medians of interleaved rounds):")
    print(f"{'':44}{'bare':>7}{'hooked':>8}{'ratio':>7}{'inside':>8}{'a reading':>11}")
    for shape, words in SHAPES.items():
        for name in CLOCKS:
            pairs = []
            for _ in range(ROUNDS):
                pairs.append((sample(plain[f"{shape}_{name}"]), sample(hooked[f"{shape}_{name}"])))
                readings.flush()
            bare = statistics.median(p[0] for p, _ in pairs) * 1e9
            ours = statistics.median(h[0] for _, h in pairs) * 1e9
            inside = statistics.median(h[1] - p[1] for p, h in pairs) * 1e9
            print(
                f"{name + ' (' + words + ')':44}{bare:7.0f}{ours:8.0f}{ours / bare:7.1f}"
                f"{inside:8.0f}{(ours - bare) / 2:11.0f}"
            )
    print("inside: what the hooks add between the two readings, that is to the region itself.")
    print("a reading: all that the hooks add, half of a pair and its difference.")


if __name__ == "__main__":
    if "COLDSOAK_SPOOL" in os.environ:
        measure()
    else:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "COLDSOAK_SPOOL": folder, "PYTHONPATH": str(INJECT)}
            sys.exit(subprocess.call([sys.executable, __file__], env=environment))
