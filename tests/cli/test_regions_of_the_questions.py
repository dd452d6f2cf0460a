"""The two programs that coldsoak was made for, on the CPU, with a real TensorFlow.

They are kept to the form of the published ones: clock readings, loops and calls as there, the
sizes cut so that the test is short.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak.model import spool

INJECT = Path(__file__).parents[2] / "src" / "coldsoak" / "inject"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
)

MATMUL = """
import tensorflow as tf

tf.compat.v1.enable_eager_execution()

import time

def time_matmul(run, x):
  start = time.time()
  for loop in range(10):
    tf.matmul(x, x)
  result = time.time()-start
  print(f"Run #{run}: {1000*result:0.2f}ms")

for name in ["CPU:0", "GPU:0"]:
  print("On", name)
  if name in [d.name[-5:] for d in tf.config.list_logical_devices()]:
    with tf.device(name):
      x = tf.random.uniform([200, 200])
      assert x.device.endswith(name)
      for run in range(5):
          time_matmul(run, x)

print("On CPU again:")
with tf.device("CPU:0"):
  x = tf.random.uniform([200, 200])
  for run in range(5):
      time_matmul(run, x)
"""

SESSIONS = """
import tensorflow.compat.v1 as tf
from datetime import datetime
tf.disable_v2_behavior()

shapes = [(50, 50), (100, 100)]
devices = ['/device:CPU:0', '/CPU:0']

def cell():
    for device in devices:
        for shape in shapes:
            with tf.device(device):
                random_matrix = tf.random_uniform(shape=shape, minval=0, maxval=1)
                dot_operation = tf.matmul(random_matrix, tf.transpose(random_matrix))
                sum_operation = tf.reduce_sum(dot_operation)

            start_time = datetime.now()
            with tf.Session(config=tf.ConfigProto(log_device_placement=False)) as session:
                result = session.run(sum_operation)
            elapsed_time = datetime.now() - start_time
            print("took", elapsed_time.total_seconds())
for _ in range(2):
    cell()
"""


def measure(folder, source):
    """Run a program with the agent; return its output and the regions by (lines, case)."""
    (folder / "main.py").write_text(source)
    (folder / "spools").mkdir()
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env={
            **os.environ,
            "COLDSOAK_SPOOL": str(folder / "spools"),
            "PYTHONPATH": str(INJECT),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    [path] = (folder / "spools").iterdir()
    records = [spool.DECODER.decode(line) for line in path.read_bytes().splitlines()]
    keys = {r.id: r for r in records if isinstance(r, spool.Key)}
    series = {}
    for region in (r for r in records if isinstance(r, spool.Region)):
        key = keys[region.key]
        name = tuple(line for _, line, _ in key.stack), tuple(key.case)
        series.setdefault(name, []).append(region.seconds)
    return done.stdout, series


def test_eager_matmul(tmp_path):
    output, series = measure(tmp_path, MATMUL)
    assert series.keys() == {((9, 22), (("name", "'CPU:0'"),)), ((9, 28), ())}
    printed = [float(line.split()[-1][:-2]) / 1000 for line in output.splitlines() if "Run" in line]
    measured = [seconds for runs in series.values() for seconds in runs]
    assert measured == pytest.approx(printed, abs=1e-5)
    assert len(measured) == 10


def test_sessions_per_device_and_shape(tmp_path):
    output, series = measure(tmp_path, SESSIONS)
    assert series.keys() == {
        ((17, 23), (("device", repr(device)), ("shape", shape)))
        for device in ("/device:CPU:0", "/CPU:0")
        for shape in ("(50, 50)", "(100, 100)")
    }
    assert all(len(runs) == 2 for runs in series.values())
    printed = [float(line.split()[1]) for line in output.splitlines() if line.startswith("took")]
    assert sorted(s for runs in series.values() for s in runs) == pytest.approx(sorted(printed))
