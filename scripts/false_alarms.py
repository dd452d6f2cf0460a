"""Measure clean programs and write docs/false_alarms.md: no finding about measuring may fire.

    python scripts/false_alarms.py [--launches 3] [--only torch,jax]
    python scripts/false_alarms.py --stored

A program is one framework's steady, waited-for step, timed in one style. All are run as
`coldsoak run` runs any program, traced launches included. ``--stored`` measures nothing: it judges
what an earlier call left in the store, with the rules of now, and writes the table.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from coldsoak import __version__, api
from coldsoak.findings import judge, rules
from coldsoak.launch.store import Store, read_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.model.result import Result

TARGET = Path(__file__).parents[1] / "docs" / "false_alarms.md"
JUDGED = ("mistakes", "placement")

FRAMEWORKS = {
    "numpy": """
import numpy as np
x = np.ones((300, 300), dtype=np.float32)
def step():
    return x @ x
""",
    "torch": """
import torch
x = torch.ones(300, 300)
def step():
    with torch.inference_mode():
        return torch.relu(x @ x).sum().item()
""",
    "jax": """
import jax
x = jax.numpy.ones((300, 300))
product = jax.jit(lambda a: (a @ a).sum())
def step():
    return product(x).block_until_ready()
""",
    "tensorflow": """
import tensorflow as tf
x = tf.ones((300, 300))
product = tf.function(lambda a: tf.reduce_sum(tf.matmul(a, a)))
def step():
    return product(x).numpy()
""",
    "onnxruntime": """
import numpy as np, onnx, onnxruntime
from onnx import TensorProto, helper
shape = ["n", 300]
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
graph = helper.make_graph([helper.make_node("MatMul", ["a", "a"], ["b"])], "g",
                          [value("a")], [value("b")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = onnxruntime.InferenceSession(model.SerializeToString(),
                                       providers=["CPUExecutionProvider"])
x = np.ones((300, 300), dtype=np.float32)
def step():
    return session.run(None, {"a": x})
""",
    "numba": """
import numba, numpy as np
x = np.ones(200_000)
@numba.njit
def total(a):
    s = 0.0
    for v in a:
        s += v * v
    return s
def step():
    return total(x)
""",
}

STYLES = {
    "each run, median of the later": """
import statistics, time
times = []
for run in range(30):
    start = time.perf_counter()
    step()
    times.append(time.perf_counter() - start)
print("first", times[0], "later", statistics.median(times[1:]))
""",
    "function that returns its time": """
import time
def timed():
    start = time.time()
    step()
    elapsed = time.time() - start
    return elapsed
results = [timed() for _ in range(30)]
steady = results[5:]
print("mean of the last", sum(steady) / len(steady))
""",
    "warm-up, then the mean": """
import statistics, time
for _ in range(10):
    step()
durations = []
for run in range(30):
    begin = time.perf_counter_ns()
    step()
    durations.append(time.perf_counter_ns() - begin)
print("mean", statistics.mean(durations))
""",
    "datetime, printed one by one": """
from datetime import datetime
for run in range(25):
    start_time = datetime.now()
    result = step()
    elapsed_time = datetime.now() - start_time
    print(run, elapsed_time)
""",
    "timeit.repeat, the least": """
import timeit
step()
print("best", min(timeit.repeat(step, number=5, repeat=8)) / 5)
""",
    "one region around a loop": """
import time
step()
t0 = time.monotonic()
for _ in range(40):
    step()
t1 = time.monotonic()
print("per run", (t1 - t0) / 40)
""",
}


def main() -> int:
    """Measure every program and write the table; the status is the number of false alarms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--only", default=",".join(FRAMEWORKS), help="frameworks, by commas")
    parser.add_argument("--stored", action="store_true", help="judge what was measured before")
    options = parser.parse_args()
    programs = [
        (framework, style, (FRAMEWORKS[framework] + loop).lstrip())
        for framework in options.only.split(",")
        for style, loop in STYLES.items()
        if importlib.util.find_spec(framework)
    ]
    if options.stored:
        return _write(programs, dict(_stored()))
    found = {}
    for framework, style, text in programs:
        found[text] = _measure(text, options.launches)
        print(framework, style, len(found[text].launches), _alarms(found[text]), flush=True)
        if len(programs) == len(FRAMEWORKS) * len(STYLES):
            _write(programs, found)
    return sum(bool(_alarms(result)) for result in found.values())


def _measure(text: str, launches: int) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(text, encoding="utf-8")
        return api.run([sys.executable, str(script)], launches=launches)


def _stored() -> Iterator[tuple[str, Result]]:
    """Yield the complete results of the store with their programs, oldest first."""
    for file in sorted(Store().results.glob("*/result.json")):
        result = read_result(file)
        if result.complete and len(result.sources) == 1:
            yield next(iter(result.sources.values())), judge(result)


def _alarms(result: Result) -> str:
    found = {f.code for f in result.findings if any(f".{g}." in _module(f.code) for g in JUDGED)}
    return ", ".join(sorted(found)) or "–"


def _module(code: str) -> str:
    return rules()[code].__name__


def _write(programs: list[tuple[str, str, str]], found: dict[str, Result]) -> int:
    rows = [
        (framework, style, len(found[text].launches), _alarms(found[text]))
        for framework, style, text in programs
        if text in found
    ]
    codes = sum(any(f".{g}." in _module(code) for g in JUDGED) for code in rules())
    shares = [
        launch.conditions.foreign_cpu or 0.0
        for _, _, text in programs
        if text in found
        for launch in found[text].launches
    ]
    TARGET.write_text(_page(rows, codes, median(shares or [0.0])), encoding="utf-8")
    print(f"{TARGET.name}: {len(rows)} of {len(programs)} programs")
    return sum(row[3] != "–" for row in rows)


def _page(rows: list[tuple[str, str, int, str]], codes: int, busy: float) -> str:
    clean = sum(row[3] == "–" for row in rows)
    lines = [
        "# False alarms",
        "",
        f"{len(rows)} clean programs: a steady step that waits for its result, timed in the ways",
        f"that people time. {codes} findings about measuring and about where the work ran were",
        f"looked for; {len(rows) - clean} of the programs had one.",
        f"Other work took {100 * busy:.0f} % of the machine meanwhile (median over launches); above",
        "15 % differences between runs must exceed 150 ms to count.",
        "",
        f"Written by `scripts/false_alarms.py` with coldsoak {__version__}.",
        "",
        "| framework | timed as | launches | findings |",
        "|---|---|--:|---|",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
