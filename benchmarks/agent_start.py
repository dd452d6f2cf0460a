"""What the agent costs before the first line of the user's program, and per imported module.

Interleaved pairs of processes with and without the agent; medians of the paired differences.

    python benchmarks/agent_start.py [--pairs 30] [--modules 2000] [--python PATH]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from coldsoak.model import spool

INJECT = Path(spool.__file__).parents[1] / "inject"
BUDGET_MS = 5.0


def environment(folder: Path | None, mode: str = "timed") -> dict[str, str]:
    """Return the environment of a process; with ``folder`` the agent is inside."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("COLDSOAK", "PYTHON"))}
    if folder is None:
        return base
    extra = {"COLDSOAK_SPOOL": str(folder), "COLDSOAK_MODE": mode, "PYTHONPATH": str(INJECT)}
    return {**base, **extra}


def run(command: list[str], env: dict[str, str]) -> float:
    """Return the wall time of a command in ms."""
    start = time.perf_counter_ns()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter_ns() - start) / 1e6


def pairs(command: list[str], count: int, folder: Path, mode: str) -> tuple[float, float, float]:
    """Return the medians of (without, with, with - without) in ms; round 0 is discarded."""
    rows = []
    for number in range(count + 1):
        plain, agent = environment(None), environment(folder, mode)
        if number % 2:
            a, b = run(command, plain), run(command, agent)
        else:
            b, a = run(command, agent), run(command, plain)
        rows.append((a, b, b - a))
    return tuple(statistics.median(column) for column in zip(*rows[1:], strict=True))


def spent(folder: Path) -> dict[str, float]:
    """Return medians in ms over all files: from the agent's first line to each phase, and ``own``.

    ``own`` is the agent's part of that: its start, and its costs up to the program's first line.
    """
    found: dict[str, list[float]] = {}
    for path in folder.glob("*.jsonl"):
        records = [spool.DECODER.decode(line) for line in path.read_bytes().splitlines()]
        begin = records[0].begin_ns
        moments = {r.name: r.ns - begin for r in records if isinstance(r, spool.Phase)}
        costs = [r for r in records if isinstance(r, spool.Cost)]
        before = [r for r in costs if r.end_ns - begin <= moments["main_start"]]
        own = moments["agent_ready"] + sum(r.end_ns - r.start_ns for r in before)
        for name, ns in {"own": own, **moments}.items():
            found.setdefault(name, []).append(ns / 1e6)
    return {name: statistics.median(values) for name, values in found.items()}


def make_modules(folder: Path, count: int) -> Path:
    """Write ``count`` tiny modules in packages of fifty, and a script that imports them all."""
    lines = []
    for number in range(count):
        package = folder / "site-packages" / f"package{number // 50}"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / f"module{number}.py").write_text("def f(x):\n    return x\nVALUE = [1, 2]\n")
        lines.append(f"import {package.name}.module{number}")
    script = folder / "imports.py"
    path = str(folder / "site-packages")
    script.write_text("\n".join(["import sys", f"sys.path.append({path!r})", *lines]) + "\n")
    return script


def report(title: str, figures: tuple[float, float, float]) -> None:
    without, inside, extra = figures
    print(f"{title:<34}{without:9.2f}{inside:9.2f}{extra:+9.2f}{inside / without:8.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--modules", type=int, default=2000)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clock = folder / "clock.py"
        clock.write_text("import time\nstart = time.time()\nprint(time.time() - start)\n")
        plain = folder / "plain.py"
        plain.write_text("pass\n")
        print(f"{'ms, median':<34}{'without':>9}{'with':>9}{'diff':>9}{'ratio':>8}")
        ready = {}
        for title, command in (
            ("-c pass", ["-c", "pass"]),
            ("script without a clock", [str(plain)]),
            ("script with a clock", [str(clock)]),
        ):
            spooled = folder / title.replace(" ", "_")
            spooled.mkdir()
            figures = pairs([options.python, *command], options.pairs, spooled, "timed")
            report(title, figures)
            ready[title] = spent(spooled)
        script = make_modules(folder, options.modules)
        run([options.python, str(script)], environment(None))
        for mode in ("timed", "traced"):
            spooled = folder / mode
            spooled.mkdir()
            figures = pairs([options.python, str(script)], options.pairs // 3, spooled, mode)
            report(f"{options.modules} modules, {mode}", figures)
        for title, figures in ready.items():
            ordered = sorted(figures.items(), key=lambda item: item[1])
            line = ", ".join(f"{name} {ms:.2f}" for name, ms in ordered)
            print(f"ms from the agent's first line, {title}: {line}")
    worst = max(figures["own"] for figures in ready.values())
    print(f"the agent before the first user line: {worst:.2f} ms, budget {BUDGET_MS} ms")
    return int(worst > BUDGET_MS)


if __name__ == "__main__":
    raise SystemExit(main())
