"""Regions of real processes: the agent as it is injected, the records as they are read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak.model import spool

INJECT = Path(__file__).parents[2] / "src" / "coldsoak" / "inject"


class Run:
    """One process tree with an agent, and what its spools say."""

    def __init__(self, folder, argv, **environment):
        spools = folder / "spools"
        spools.mkdir(exist_ok=True)
        self.done = subprocess.run(
            [sys.executable, *argv],
            cwd=folder,
            env={
                **os.environ,
                "COLDSOAK_SPOOL": str(spools),
                "COLDSOAK_MODE": "timed",
                "PYTHONPATH": str(INJECT),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        self.files = {
            path.name: [spool.DECODER.decode(line) for line in path.read_bytes().splitlines()]
            for path in sorted(spools.iterdir())
        }
        for path in spools.iterdir():
            path.unlink()

    def of(self, kind):
        return [r for records in self.files.values() for r in records if isinstance(r, kind)]

    def series(self):
        """Seconds of the executions, by (process, file name and lines of the stack, case)."""
        found = {}
        for name, records in self.files.items():
            keys = {r.id: r for r in records if isinstance(r, spool.Key)}
            for region in (r for r in records if isinstance(r, spool.Region)):
                key = keys[region.key]
                stack = tuple(f"{Path(f).name}:{line}" for f, line, _ in key.stack)
                series = (name, stack, tuple(key.case))
                found.setdefault(series, []).append(region.seconds)
        return found

    def shapes(self):
        """As ``series``, without the process, and with the number of executions only."""
        found = {}
        for (_, stack, case), seconds in self.series().items():
            found[stack, case] = found.get((stack, case), 0) + len(seconds)
        return found


@pytest.fixture
def run(tmp_path):
    def start(source, *args, files=None, **environment):
        (tmp_path / "main.py").write_text(source)
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Run(tmp_path, args or ["main.py"], **environment)

    return start


HELPER = """
import time
def bench(work, label):
    t0 = time.perf_counter()
    work()
    return time.perf_counter() - t0
"""


def test_a_victim_of_known_cost(run):
    done = run(
        "import time\n"
        "def work(run):\n"
        "    start = time.time()\n"
        "    time.sleep(0.2 if run == 0 else 0.01)\n"
        "    print('%.4f' % (time.time() - start))\n"
        "for run in range(4):\n    work(run)\n"
    )
    [(series, seconds)] = done.series().items()
    assert series[1:] == (("main.py:3", "main.py:7"), ())
    assert [float(x) for x in done.done.stdout.split()] == pytest.approx(seconds, abs=1e-4)
    assert 0.2 <= seconds[0] < 0.26
    assert all(0.01 <= s < 0.05 for s in seconds[1:])
    for region in done.of(spool.Region):
        assert region.seconds <= (region.end_ns - region.start_ns) / 1e9 < region.seconds + 0.001


def test_imported_module_of_the_user(run):
    done = run(
        "from helper import bench\n"
        "for device in ('cpu', 'gpu'):\n    for i in range(3):\n        bench(int, device)\n",
        files={"helper.py": HELPER},
    )
    assert done.done.returncode == 0, done.done.stderr
    stack = ("helper.py:4", "main.py:4")
    assert done.shapes() == {
        (stack, (("work", "int"), ("label", f"'{d}'"), ("device", f"'{d}'"))): 3
        for d in ("cpu", "gpu")
    }


def test_package_run_with_m(run):
    done = run(
        "",
        "-m",
        "pkg",
        files={"pkg/__init__.py": "", "pkg/__main__.py": "from .t import bench\nbench(int, 1)\n",
               "pkg/t.py": HELPER},
    )  # fmt: skip
    assert done.done.returncode == 0, done.done.stderr
    [(_, stack, _)] = done.series()
    assert stack == ("t.py:4", "__main__.py:2")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children(run, method):
    done = run(
        "import multiprocessing, time\n"
        "def work(n):\n    t = time.time()\n    time.sleep(0.01)\n    return time.time() - t\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        print(len(pool.map(work, range(6), 1)))\n"
        "        pool.close()\n        pool.join()\n"
    )
    assert done.done.stdout == "6\n", done.done.stderr
    assert sum(done.shapes().values()) == 6
    assert all(stack[0] == "main.py:3" for stack, _ in done.shapes())


def test_declared_and_timeit_regions(run):
    done = run(
        "import timeit, coldsoak\n"
        "with coldsoak.region('load', kind='x'):\n    pass\n"
        "timeit.repeat('1', number=10, repeat=2)\n",
        COLDSOAK_USER="",
    )
    assert done.done.returncode == 0, done.done.stderr
    kinds = [(r.kind, r.name, r.loops) for r in done.of(spool.Region)]
    assert kinds == [("declared", "load", 1), ("timeit", "", 10), ("timeit", "", 10)]


def test_a_killed_program_keeps_its_regions(run):
    done = run(
        "import os, signal, time\n"
        "t = time.time()\nprint(time.time() - t)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert done.done.returncode == -9
    assert sum(done.shapes().values()) == 1


def test_coverage_sees_the_same_lines(run, tmp_path):
    pytest.importorskip("coverage")
    source = (
        "import time\nclass A:\n    def f(self):\n        t = time.time()\n"
        "        return (\n            time.time()\n            - t\n        )\nA().f()\n"
    )
    seen = []
    for inject in (str(INJECT), ""):
        done = run(source, "-m", "coverage", "run", "--branch", "main.py", PYTHONPATH=inject)
        assert done.done.returncode == 0, done.done.stderr
        report = subprocess.run(
            [sys.executable, "-m", "coverage", "report", "-m", "--include=main.py"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        seen.append(report.stdout)
    assert seen[0] == seen[1]


def test_a_source_reading_decorator(run):
    done = run(
        "import functools, inspect, textwrap, time\n"
        "def graph(function):\n"
        "    text = textwrap.dedent(inspect.getsource(function)).split('\\n', 1)[1]\n"
        "    space = dict(function.__globals__)\n"
        "    exec(compile(text, '<converted>', 'exec'), space)\n"
        "    return functools.wraps(function)(space[function.__name__])\n"
        "@graph\ndef f(t):\n    return time.time() - t\n"
        "begin = time.time()\nf(begin)\nprint(time.time() - begin)\n"
    )
    assert done.done.returncode == 0, done.done.stderr
    assert sum(done.shapes().values()) == 1


def test_traceback_is_the_plain_one(run):
    source = (
        "import time\ndef f(t):\n    return time.time() - t\n"
        "class V:\n    def __rsub__(self, other): raise ValueError(other > 0)\nf(V())\n"
    )
    rewritten, plain = run(source), run(source, PYTHONPATH="")
    assert rewritten.done.stderr == plain.done.stderr
    assert rewritten.done.returncode == plain.done.returncode == 1
