"""What it costs to look: traced against timed launches of the same program, in pairs.

    python benchmarks/sampling_cost.py [--pairs N] [--sources perf,io,…] [CASE …]

Each pair runs both kinds in fresh processes, in random order. Printed for each case: the median of
the timed launches, the median ratio of a pair with its range, for the time to the first result, for
the first run of the region, and for the CPU time until then, which other load disturbs least. With ``--each`` every source is measured alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import coldsoak
from coldsoak.launch.perfready import perf_ready

INJECT = Path(coldsoak.__file__).parent / "inject"
SOURCES = "perf,io,jax,torch,tensorflow,triton,numba,nvrtc"
PROLOGUE = "import time\n"
EPILOGUE = """
begin = time.perf_counter()
run()
end = time.perf_counter()
print("RUN", end - begin, time.monotonic_ns(), time.process_time())
"""
CASES = {
    "python": "def run(): sum(range(2_000_000))",
    "numpy": "import numpy as np\nx = np.ones((1000, 1000))\ndef run(): x @ x",
    "numpy-import": "def run(): import numpy",
    "jax-import": "def run(): import jax",
    "torch-import": "def run(): import torch",
    "torch": "import torch\nx = torch.rand(1000, 1000)\ndef run(): x @ x",
    "jax": "import jax, jax.numpy as jnp\nx = jnp.ones((500, 500))\n"
    "def run(): jax.jit(lambda x: jnp.tanh(x @ x).sum())(x).block_until_ready()",
    "tensorflow": "import tensorflow as tf\nx = tf.ones((1000, 1000))\n"
    "def run(): float(tf.reduce_sum(tf.matmul(x, x)))",
    "threads": "import threading\ndef run():\n"
    "  for _ in range(200):\n    t = threading.Thread(target=len, args=('',)); t.start(); t.join()",
    "switches": "import os, threading\na, b = os.pipe(); c, d = os.pipe()\n"
    "def echo():\n  for _ in range(5000): os.read(a, 1); os.write(d, b'x')\n"
    "def run():\n  t = threading.Thread(target=echo); t.start()\n"
    "  for _ in range(5000): os.write(b, b'x'); os.read(c, 1)\n  t.join()",
    "touch": "import mmap\nm = mmap.mmap(-1, 256 << 20)\n"
    "def run():\n  for i in range(0, len(m), 4096): m[i] = 1",
}


def launch(case: str, kind: str, sources: str) -> tuple[float, float, float]:
    """Return time to first result, time of the region, and CPU time until then, in ms."""
    with tempfile.TemporaryDirectory() as spool:
        env = {**os.environ, "PYTHONPATH": str(INJECT), "COLDSOAK_SPOOL": spool}
        env |= {"COLDSOAK_MODE": kind, "COLDSOAK_SOURCES": sources, "TF_CPP_MIN_LOG_LEVEL": "3"}
        begin = time.monotonic_ns()
        env["COLDSOAK_T0"] = str(begin)
        code = PROLOGUE + CASES[case] + EPILOGUE
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
    line = next(line for line in done.stdout.splitlines() if line.startswith("RUN "))
    _, seconds, end, cpu = line.split()
    return (int(end) - begin) / 1e6, float(seconds) * 1e3, float(cpu) * 1e3


def pairs(case: str, count: int, sources: str) -> dict[str, object]:
    """Return the medians and ratios of ``count`` random pairs."""
    found: dict[str, list[tuple[float, float, float]]] = {"timed": [], "traced": []}
    for number in range(count + 1):
        for kind in random.sample(["timed", "traced"], 2):
            with perf_ready():
                result = launch(case, kind, sources)
            if number:  # the first pair warms the page cache
                found[kind].append(result)
    report: dict[str, object] = {"case": case, "sources": sources, "pairs": count}
    for index, name in enumerate(("first_result", "run", "cpu")):
        timed = [result[index] for result in found["timed"]]
        traced = [result[index] for result in found["traced"]]
        ratios = sorted(b / a for a, b in zip(timed, traced, strict=True))
        report[f"{name}_ms"] = round(statistics.median(timed), 2)
        report[f"{name}_ratio"] = round(statistics.median(ratios), 3)
        report[f"{name}_range"] = [round(ratios[0], 3), round(ratios[-1], 3)]
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), choices=[*CASES, []])
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--sources", default=SOURCES)
    parser.add_argument("--each", action="store_true", help="every source alone, and none")
    options = parser.parse_args()
    sets = ["", *options.sources.split(",")] if options.each else [options.sources]
    for case in options.cases:
        for sources in sets:
            print(json.dumps(pairs(case, options.pairs, sources)), flush=True)


if __name__ == "__main__":
    main()
