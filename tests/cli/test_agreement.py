"""Run 0 as coldsoak reports it is what the program itself printed in that launch.

The programs print what their own clocks said; the launch's log keeps it. Every execution is
compared with its own line, not a median with a median.
"""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TOLERANCE = 0.05

FUNCTION = """
import time

def step(n):
    start = time.time()
    time.sleep(0.08 if n == 0 else 0.01)
    result = time.time() - start
    print(f"took {result * 1000:.2f} ms")

for n in range(4):
    step(n)
"""
DATES = """
from datetime import datetime
import time
for shape in [(50, 50), (100, 100)]:
    start_time = datetime.now()
    time.sleep(0.05)
    elapsed_time = datetime.now() - start_time
    print("took", elapsed_time.total_seconds() * 1000, "ms")
"""
NANOSECONDS = """
from time import perf_counter_ns as now, sleep
from contextlib import contextmanager

class Watch:
    @contextmanager
    def measuring(self):
        self.__begin = now()
        yield
        print("took", (now() - self.__begin) / 1e6, "ms")

watch = Watch()
for n in range(3):
    with watch.measuring():
        sum(range(2_000_000 if n == 0 else 200_000))
"""
TIMEIT = """
import timeit, time
for seconds in timeit.repeat(lambda: time.sleep(0.02), number=1, repeat=3):
    print("took", seconds * 1000, "ms")
"""
SESSIONS = """
from datetime import datetime
import tensorflow as tf

for shape in [(50, 50), (400, 400)]:
    with tf.device('/device:CPU:0'):
        random_matrix = tf.random_uniform(shape=shape, minval=0, maxval=1)
        sum_operation = tf.reduce_sum(tf.matmul(random_matrix, tf.transpose(random_matrix)))
    start_time = datetime.now()
    with tf.Session(config=tf.ConfigProto(log_device_placement=False)) as session:
        result = session.run(sum_operation)
    elapsed_time = datetime.now() - start_time
    print("took", elapsed_time.total_seconds() * 1000, "ms")
"""


def launched(folder, *command, options=()):
    """Measure ``command`` once; return for each timed launch its executions and its log."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COLDSOAK")}
    file = folder / "result.json"
    words = [sys.executable, "-m", "coldsoak", "run", "--launches", "1", "--no-trace"]
    words += ["--json", str(file), *options, "--", sys.executable, *command]
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment | {"COLDSOAK_HOME": str(folder / "home"), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    logs = folder / "home" / "results" / result["id"]
    return [
        (sorted(one["executions"], key=lambda e: e["end_ns"]), (logs / one["log"]).read_text())
        for one in result["launches"]
    ]


def assert_agreement(launches, pattern):
    """Compare each execution with the figure of its line; the last printed digit is rounded."""
    assert launches
    for executions, log in launches:
        printed = [text for found in re.finditer(pattern, log) for text in found.groups()]
        assert len(executions) == len(printed) > 0
        for execution, (text, unit) in zip(executions, map(split_unit, printed), strict=True):
            figure, rounding = float(text) * unit, unit * 0.5 * 10.0 ** -decimals(text)
            wall = (execution["end_ns"] - execution["start_ns"]) / 1e9
            slack = rounding + 20e-6  # a run of 30 µs may differ by what two readings take
            assert wall == pytest.approx(figure, rel=TOLERANCE, abs=slack)
            assert execution["seconds"] == pytest.approx(figure, abs=rounding + 1e-9)


def split_unit(text):
    number, unit = text.split()
    return number, {"ms": 1e-3, "s": 1.0}[unit]


def decimals(number):
    return len(number.partition(".")[2])


@pytest.mark.parametrize(
    "source", [FUNCTION, DATES, NANOSECONDS, TIMEIT], ids=["function", "dates", "ns", "timeit"]
)
def test_small_programs(source, tmp_path):
    (tmp_path / "program.py").write_text(source)
    assert_agreement(launched(tmp_path, "program.py"), r"took ([\d.]+ ms)")


@pytest.mark.framework("tensorflow")
@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_sessions_of_tensorflow_1(tmp_path):
    (tmp_path / "program.py").write_text(SESSIONS)
    launches = launched(tmp_path, "program.py", options=["--tf1"])
    assert_agreement(launches, r"took ([\d.]+ ms)")


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param(
            name,
            marks=[
                pytest.mark.framework(name),
                pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed"),
            ],
        )
        for name in ("tensorflow", "torch", "jax")
    ],
)
def test_the_examples(framework, tmp_path):
    launches = launched(tmp_path, str(EXAMPLES / f"matmul_loop_{framework}.py"))
    assert_agreement(launches, r"run \d: +([\d.]+ ms) returned, +([\d.]+ ms) computed")
