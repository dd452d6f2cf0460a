"""The examples run as they stand, on whatever devices there are."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FRAMEWORKS = ("tensorflow", "torch", "jax")


def output_of(program, *arguments):
    framework = program.rpartition("_")[2]
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{program}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=pytest.mark.framework(name)) for name in FRAMEWORKS]
)
def test_the_loop_prints_ten_runs_on_each_device(framework):
    text = output_of(f"matmul_loop_{framework}")
    devices = re.findall(r"^On (.+):$", text, re.MULTILINE)
    runs = re.findall(r"run (\d): +[\d.]+ ms returned, +[\d.]+ ms computed", text)
    assert "cpu" in devices[-1].lower()
    assert runs == [str(run) for _ in devices for run in range(10)]


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=pytest.mark.framework(name)) for name in FRAMEWORKS]
)
def test_the_sweep_prints_each_shape(framework):
    text = output_of(f"sweep_{framework}", "20", "30")
    sizes = [int(size) for size in re.findall(r"^\(?(\d+)", text, re.MULTILINE)]
    assert sizes[:2] == [20, 30]
    assert all(re.search(r"[\d.]+ s", line) for line in text.splitlines())


def test_every_example_is_explained():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    missing = [file.name for file in EXAMPLES.glob("*.py") if file.name not in readme]
    assert missing == []
