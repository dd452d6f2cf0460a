"""``fix`` on a session, and its recipe by ``exec`` and by ``coldsoak.preheat``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak.launch.store import Store
from coldsoak.remedies.recipe import read

pytestmark = [pytest.mark.framework("onnxruntime"), pytest.mark.timeout(1200)]

SCRIPTS = Path(__file__).parents[3] / "scripts" / "speed_programs"
MODEL = """
import sys, ort_model
from onnx import save_model
ort_model.LAYERS, ort_model.WORDS = 8, 4000
save_model(ort_model.model(), sys.argv[1])
"""
PROGRAM = """
import time
import numpy as np, onnxruntime as ort
given = {model}
session = ort.InferenceSession(given, providers=["CPUExecutionProvider"])
words = np.arange(32)[None]
for n in range(4):
    start = time.perf_counter()
    hidden, pooled = session.run(None, {{"words": words, "mask": np.ones_like(words)}})
    print(f"run {{n}} took {{time.perf_counter() - start:.4f}} s, sum {{hidden.sum()}}")
"""
BY_PATH = PROGRAM.format(model='"encoder.onnx"')
BY_BYTES = PROGRAM.format(model='open("encoder.onnx", "rb").read()')


@pytest.fixture
def work(tmp_path):
    """A folder with a program and its model, 64 MB, which goes at the end."""
    for name in ("onnx", "onnxruntime"):
        pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)
    words = [sys.executable, "-c", MODEL, str(tmp_path / "encoder.onnx")]
    subprocess.run(words, cwd=SCRIPTS, check=True, timeout=120)
    yield tmp_path
    for file in (*tmp_path.rglob("*.onnx"), *tmp_path.rglob("*.bin")):
        file.unlink()


def coldsoak(work, *arguments, **more):
    keep = {name: value for name, value in os.environ.items() if not name.startswith("COLDSOAK")}
    own = {"COLDSOAK_HOME": str(work / "home"), "NO_COLOR": "1", "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "coldsoak", *arguments],
        cwd=work, env=keep | own | more, capture_output=True, text=True, timeout=1100, check=False,
    )  # fmt: skip


def last(work):
    store = Store(work / "home")
    return store.load(max(path.parent.name for path in work.glob("home/results/*/result.json")))


def test_the_recipe_loads_the_kept_model_by_exec_and_by_the_call(work):
    (work / "program.py").write_text(BY_PATH)
    command = [sys.executable, "program.py"]
    remedy = ["--remedy", "ort.optimized_model"]
    done = coldsoak(work, "fix", "--pairs", "7", *remedy, "--", *command)
    assert done.returncode == 0, done.stderr
    (trial,) = last(work).trials
    assert (trial.took_effect, trial.outputs, trial.numerics) == (True, "equal", "unchanged")
    assert "kept models loaded: 1" in trial.proof
    recipe = read(work / "coldsoak.recipe.toml")
    assert [one.remedy for one in recipe.ingredients] == ["ort.optimized_model"]
    assert recipe.fingerprint.packages["onnxruntime"]
    report = work / "report"
    by_exec = coldsoak(work, "exec", "--", *command, COLDSOAK_PREHEAT_REPORT=str(report))
    assert report.read_text().split("\t")[1:3] == ["ort", "done"]
    assert report.read_text().rstrip().endswith("kept models loaded: 1")
    call = "import coldsoak; handle = coldsoak.preheat()\n"
    (work / "preheated.py").write_text(call + BY_PATH + "print(handle.report()['ort'][:2])\n")
    by_call = coldsoak(work, "exec", "--recipe", empty_recipe(work), sys.executable, "preheated.py")
    assert by_call.stdout.endswith("('done', 'kept models loaded: 1')\n"), by_call.stderr
    sums = [
        [line.split()[-1] for line in one.stdout.splitlines()[:4]] for one in (by_exec, by_call)
    ]
    assert sums[0] == sums[1]
    assert len(sums[0]) == 4


def empty_recipe(work):
    (work / "empty.toml").write_text("format = 1\ningredients = []\n")
    return "empty.toml"


def test_a_model_given_as_bytes_is_said_and_not_tried(work):
    (work / "program.py").write_text(BY_BYTES)
    remedy = ["--remedy", "ort.optimized_model"]
    done = coldsoak(work, "fix", "--pairs", "7", *remedy, "--", sys.executable, "program.py")
    (trial,) = last(work).trials
    assert not trial.applies
    assert trial.why == "its models are given as bytes and not as paths"
    words = " ".join(done.stdout.split())
    assert "ort.optimized_model does not apply: its models are given as bytes" in words
