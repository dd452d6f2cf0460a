"""What ``coldsoak exec`` adds to a command: `python benchmarks/exec_cost.py`.

The budget of the design is 30 ms. Each pair runs a command directly and through ``exec`` with a
recipe that sets a variable and has a plan (which the command, being no Python, does not read), in
random order; the figure is the median of the differences. Beside it stands what an interpreter that
does nothing takes, because most of the cost is the second interpreter itself.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import coldsoak
from coldsoak.remedies.apply import cpu_flags_hash
from coldsoak.stats.estimate import interval

BUDGET_MS = 30.0
RECIPE = f"""
format = 1
version = "0"
command = ["true"]
[[ingredients]]
remedy = "tf.threads"
kind = "avoid"
title = "Threads"
env = {{ OMP_NUM_THREADS = "1" }}
needs = ["coldsoak"]
[preheat]
gc = ["numpy"]
context = true
[fingerprint]
machine = "{os.uname().machine}"
cpu_flags = "{cpu_flags_hash()}"
driver = "580.0"
site = "{Path(coldsoak.__file__).parents[1]}"
packages = {{ coldsoak = "{coldsoak.__version__}" }}
"""


def wall_ms(words: list[str], environment: dict[str, str]) -> float:
    """Run ``words`` to their end and return the time from spawn to exit in ms."""
    begin = time.perf_counter()
    subprocess.run(words, env=environment, check=True)
    return (time.perf_counter() - begin) * 1e3


def exec_words(recipe: Path) -> list[str]:
    """Return the words in front of the command; stage messages would end on the terminal."""
    script = Path(sys.executable).with_name("coldsoak")
    return [str(script), "exec", "--recipe", str(recipe), "--quiet", "--"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("command", nargs="*", default=["true"])
    arguments = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed coldsoak has its bytecode
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder, "r.toml")
        recipe.write_text(RECIPE)
        arms = {
            "direct": arguments.command,
            "exec": [*exec_words(recipe), *arguments.command],
            "interpreter": [sys.executable, "-I", "-c", "pass"],
        }
        for words in arms.values():
            wall_ms(words, environment)
        times: dict[str, list[float]] = {name: [] for name in arms}
        for _ in range(arguments.pairs):
            for name in random.sample(sorted(arms), len(arms)):
                times[name].append(wall_ms(arms[name], environment))
    added = [with_ - without for with_, without in zip(times["exec"], times["direct"], strict=True)]
    for name, values in (*times.items(), ("exec - direct", added)):
        low, high = interval(values) or (min(values), max(values))
        print(f"{name:14} median {statistics.median(values):6.1f} ms  [{low:.1f}, {high:.1f}]")
    print(f"budget {BUDGET_MS:.0f} ms")
    return 1 if statistics.median(added) > BUDGET_MS else 0


if __name__ == "__main__":
    sys.exit(main())
