"""A compiler's listener switched off: less detail, the same sum, and the answer says so."""

import importlib.util
import os
import subprocess
import sys

import pytest

from coldsoak.launch.store import read_result

TIMED = "for _ in range(2):\n    start = time.perf_counter()\n    {call}\n    print(time.perf_counter() - start)\n"
ONNX = """import numpy as np
import onnxruntime as ort
from onnx import TensorProto as T, helper as h
io = [h.make_tensor_value_info(n, T.FLOAT, [64]) for n in 'xy']
graph = h.make_graph([h.make_node('Relu', ['x'], ['y'])], 'g', io[:1], io[1:])
model = h.make_model(graph, opset_imports=[h.make_opsetid('', 17)], ir_version=9)
x = {'x': np.ones(64, np.float32)}
s = ort.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])"""
PROGRAMS = {
    "jax": ("import jax, jax.numpy as jnp\nf = jax.jit(lambda x: jnp.tanh(x @ x))\nx = jnp.ones((64, 64))", "f(x).block_until_ready()"),
    "tensorflow": ("import tensorflow as tf\nf = tf.function(lambda x: tf.tanh(x @ x))\nx = tf.ones((64, 64))", "f(x).numpy()"),
    "torch": ("import torch\nf = torch.compile(lambda x: torch.tanh(x @ x), backend='eager')\nx = torch.ones(64, 64)", "f(x)"),
    "numba": ("import numba\nf = numba.njit(lambda x: x * x + 1.0)\nx = 2.0", "f(x)"),
    "onnxruntime": (ONNX, "s.run(None, x)"),
}  # fmt: skip


def measure(folder, source, *options):
    setup, call = PROGRAMS[source]
    script, answer = folder / "program.py", folder / "answer.json"
    script.write_text(f"import time\n{setup}\n{TIMED.format(call=call)}")
    command = [sys.executable, "-m", "coldsoak", "run", "--launches", "1", "--force"]
    done = subprocess.run(
        [*command, "--json", str(answer), *options, "--", sys.executable, str(script)],
        env={**os.environ, "COLDSOAK_HOME": str(folder / "home"), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_result(answer), done.stdout


def sources_of_evidence(result):
    """All sources behind the lines of all ledgers; every ledger must add up."""
    for each in result.ledgers:
        assert sum(line.ns for line in each.lines) + each.measurement_ns == each.total_ns
    lines = [line for each in result.ledgers for line in each.lines]
    return {source for line in lines for source in line.evidence.sources}


@pytest.mark.parametrize("source", sorted(PROGRAMS))
def test_the_sum_stays_the_detail_goes_and_the_answer_says_so(tmp_path, source):
    if importlib.util.find_spec(source) is None:
        pytest.skip(f"{source} is not installed")
    seen, _ = measure(tmp_path, source)
    assert source in sources_of_evidence(seen)
    blind, text = measure(tmp_path, source, "--source-off", source)
    assert source not in sources_of_evidence(blind)
    assert f"{source} off (switched off)" in text
