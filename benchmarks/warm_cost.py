"""Start to first result through the fork server against a fresh process.

`python benchmarks/warm_cost.py --import torch` runs both in random order, pair by pair. The program
imports the module, computes once and prints when it had the result (CLOCK_MONOTONIC); the client's
own start is part of the time. Both figures end at the first result, not at the exit.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from coldsoak.stats.estimate import interval

PROGRAMS = {
    "torch": "import torch; a = torch.ones(1000, 1000); float((a @ a)[0, 0])",
    "jax": "import jax.numpy as n; a = n.ones((1000, 1000)); float((a @ a)[0, 0])",
    "tensorflow": "import tensorflow as t; a = t.ones((1000, 1000)); float((a @ a)[0, 0])",
    "numpy": "import numpy as n; a = n.ones((1000, 1000)); float((a @ a)[0, 0])",
}


def first_result_s(command: list[str]) -> float:
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--import", dest="module", choices=sorted(PROGRAMS), default="torch")
    parser.add_argument("--pairs", type=int, default=8)
    given = parser.parse_args()
    code = f"{PROGRAMS[given.module]}; import time; print(time.monotonic())"
    coldsoak = str(Path(sys.executable).with_name("coldsoak"))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "s"))
        options = ["--socket", path, "--import", given.module, "--", sys.executable]
        server = subprocess.Popen([coldsoak, "serve-warm", *options])
        try:
            while not Path(path).exists() and server.poll() is None:
                time.sleep(0.05)
            arms = {
                "fresh": [sys.executable, "-c", code],
                "fork": [coldsoak, "run-warm", "--socket", path, "--", "-c", code],
            }
            times: dict[str, list[float]] = {name: [] for name in arms}
            for _ in range(given.pairs):
                for name in random.sample(sorted(arms), len(arms)):
                    times[name].append(first_result_s(arms[name]))
        finally:
            server.terminate()
            server.wait()
    times["fresh / fork"] = [a / b for a, b in zip(times["fresh"], times["fork"], strict=True)]
    for name, values in times.items():
        low, high = interval(values) or (min(values), max(values))
        print(f"{name:13} median {statistics.median(values):7.3f}  [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
