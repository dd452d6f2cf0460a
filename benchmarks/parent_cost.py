"""What one launch costs beside the command itself: `python benchmarks/parent_cost.py`.

The budget of the design is 30 ms a launch. Each launch runs `true`; its cost is the wall time of
``launch()`` less the wall time of the process. The result file is saved after each one, as in a
session, and the second figure has that in it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.request import Request
from coldsoak.launch.store import Store
from coldsoak.model.result import Arm, Options, Result

BUDGET_MS = 30.0


def costs(command: tuple[str, ...], launches: int, home: Path) -> tuple[list[float], list[float]]:
    """Return the cost of each launch in ms, without and with saving the result."""
    store = Store(home)
    arm = Arm(name="command", argv=command)
    executor = ProcessExecutor()
    result = Result(version="bench", id=store.create(command), kind="run", created="", arms=(arm,))
    bare, saved = [], []
    for index in range(launches):
        request = Request(
            arm=arm,
            kind="timed",
            round=1,
            index=index,
            position=0,
            options=Options(),
            folder=store.folder(result.id),
        )
        begin = time.perf_counter()
        launch = executor.launch(request)
        ended = time.perf_counter()
        result = replace(result, launches=(*result.launches, launch))
        store.save(result)
        finished = time.perf_counter()
        bare.append((ended - begin) * 1e3 - launch.wall_ns / 1e6)
        saved.append((finished - begin) * 1e3 - launch.wall_ns / 1e6)
    return bare, saved


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=40)
    parser.add_argument("command", nargs="*", default=["true"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        bare, saved = costs(tuple(arguments.command), arguments.launches, Path(home))
    for name, values in (("launch", bare), ("launch and save", saved)):
        print(
            f"{name:16} median {statistics.median(values):6.2f} ms   max {max(values):6.2f} ms"
            f"   {statistics.median(values) / BUDGET_MS:5.2f} of the budget of {BUDGET_MS:.0f} ms"
        )
    return 1 if statistics.median(saved) > BUDGET_MS else 0


if __name__ == "__main__":
    sys.exit(main())
