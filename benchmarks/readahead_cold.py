"""What recorded readahead gives a start with a cold disk: `python benchmarks/readahead_cold.py`.

Each pair takes the files of the environment out of the page cache (and proves it, as ``--cold
disk`` does) before either arm: the command as it is, and with the recorded ranges read ahead. The
order within a pair is random. Use an environment of its own (``--python``): files that other
processes have mapped cannot be evicted. ``--warm`` leaves the page cache alone, which shows the cost.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from coldsoak.launch.environment_files import command_files
from coldsoak.launch.pagecache import evict
from coldsoak.remedies.apply import INJECT
from coldsoak.remedies.record import record
from coldsoak.stats.estimate import interval

MIB = 1 << 20


def wall_s(command: list[str], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=environment, check=True)
    return time.perf_counter() - begin


def told(name: str, values: list[float]) -> str:
    low, high = interval(values) or (min(values), max(values))
    return f"{name:12} median {statistics.median(values):6.3f} s  [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=shutil.which("python3"))
    parser.add_argument("--code", default="import torch")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--warm", action="store_true")
    given = parser.parse_args()
    command = [given.python, "-c", given.code]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        recording = record(command, Path(folder, "ranges.tsv"), environment=plain)
        print(
            f"recorded {recording.ranges} ranges of {recording.files} files, "
            f"{recording.bytes / MIB:.0f} MiB of {recording.installed / MIB:.0f} MiB installed"
        )
        plan = f"readahead {recording.file}"
        report = Path(folder, "report")
        arms = {
            "stock": plain,
            "readahead": plain
            | {
                "PYTHONPATH": INJECT,
                "COLDSOAK_PREHEAT": plan,
                "COLDSOAK_PREHEAT_REPORT": str(report),
            },
        }
        files = command_files(given.python, tuple(command), folder, plain)
        times: dict[str, list[float]] = {name: [] for name in arms}
        for _ in range(given.pairs):
            for name in random.sample(sorted(arms), len(arms)):
                if not given.warm:
                    evict(files)
                times[name].append(wall_s(command, arms[name]))
        print(*dict.fromkeys(line.split("\t", 1)[1] for line in report.open()), sep="", end="")
    for name, values in times.items():
        print(told(name, values))
    pairs = list(zip(times["readahead"], times["stock"], strict=True))
    print(told("difference", [with_ - without for with_, without in pairs]))
    print(told("ratio", [with_ / without for with_, without in pairs]))


if __name__ == "__main__":
    main()
