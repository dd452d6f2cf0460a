"""The agent inside real frameworks: TensorFlow 1 scripts, and waiting for queued work."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak.model import spool

INJECT = Path(spool.__file__).parents[1] / "inject"
EAGER = """
import tensorflow as tf
tf.enable_eager_execution()
import time
def product(x):
    begin = time.time()
    for _ in range(3):
        tf.matmul(x, x)
    print("%.9f" % (time.time() - begin))
assert not tf.test.is_gpu_available()
with tf.device("CPU:0"):
    x = tf.random_uniform([64, 64])
    assert x.device.endswith("CPU:0")
    product(x)
"""
SESSION = """
import tensorflow as tf
from datetime import datetime
for side in (8, 16):
    with tf.device("/device:CPU:0"):
        values = tf.random_uniform(shape=(side, side), minval=0, maxval=1)
        total = tf.reduce_sum(tf.matmul(values, tf.transpose(values)))
    begin = datetime.now()
    with tf.Session(config=tf.ConfigProto(log_device_placement=False)) as session:
        result = session.run(total)
    print("%.9f" % (datetime.now() - begin).total_seconds())
"""
JAX = """
import jax, jax.numpy as jnp, time
start = time.perf_counter()
y = jnp.ones((600, 600))
for _ in range(20):
    y = y @ y / 600
print(time.perf_counter() - start)
"""


def need(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def run(folder, text, **environ):
    (folder / "script.py").write_text(text)
    spooled = folder / "spool"
    spooled.mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COLDSOAK", "PYTHON"))}
    environ = {"COLDSOAK_SPOOL": str(spooled), "PYTHONPATH": str(INJECT), **environ}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**kept, "TF_CPP_MIN_LOG_LEVEL": "3", **environ},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    main = min(spooled.glob("*.jsonl"), key=lambda path: int(path.stem.split("-")[1]))
    records = [spool.DECODER.decode(line) for line in main.read_bytes().splitlines()]
    return done, [record for record in records if isinstance(record, spool.Region)]


@pytest.mark.framework("tensorflow")
@pytest.mark.parametrize(("text", "count"), [(EAGER, 1), (SESSION, 2)], ids=["eager", "session"])
def test_tensorflow_1_scripts_run_on_tensorflow_2(tmp_path, text, count):
    need("tensorflow")
    done, regions = run(tmp_path, text, COLDSOAK_TF1="1")
    printed = [float(line) for line in done.stdout.splitlines()]
    assert len(printed) == count
    assert [region.seconds for region in regions] == pytest.approx(printed, abs=1e-6)


@pytest.mark.framework("jax")
def test_synced_regions_know_when_the_work_was_done(tmp_path):
    need("jax")
    _, regions = run(tmp_path, JAX, COLDSOAK_MODE="synced")
    (region,) = regions
    assert region.start_ns < region.end_ns <= region.ready_ns
