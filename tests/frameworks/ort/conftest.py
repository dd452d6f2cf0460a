"""Programs that use ONNX Runtime, with and without the stage that keeps its models."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

MODULES = "ort, preheat_ort, preheat_ort_cache, preheat_ort_keep"


@dataclass(frozen=True)
class Ran:
    """A program that has ended."""

    status: int
    out: str
    err: str
    state: str
    """Of the stage; empty without it."""
    told: str


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder of models."""
    for name in ("onnx", "onnxruntime"):
        pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)
    folder = tmp_path_factory.mktemp("models")
    script = Path(__file__).with_name("models.py")
    subprocess.run([sys.executable, script, folder], check=True, timeout=120)
    return folder


@pytest.fixture
def models(made, tmp_path):
    """A copy of the folder of models for one test."""
    return shutil.copytree(made, tmp_path / "models")


@pytest.fixture
def start(tmp_path, models, changed_agent):
    """Start a program in the folder of models; returns the process, for ``ended``."""

    def run(program, *, stage=True, extra="", cache=tmp_path / "cache", **options):
        hook = changed_agent(MODULES, extra)
        (models / "program.py").write_text(program)
        keep = {name: text for name, text in os.environ.items() if not name.startswith("COLDSOAK")}
        plan = {
            "PYTHONPATH": str(hook),
            "COLDSOAK_PREHEAT": f"ort {cache}",
            "COLDSOAK_PREHEAT_REPORT": str(tmp_path / "report"),
        }
        return subprocess.Popen(
            [sys.executable, "program.py"],
            cwd=models,
            env=keep | (plan if stage else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    return run


@pytest.fixture
def ended(tmp_path):
    """Wait for a program and return what became of it."""

    def wait(process):
        out, err = process.communicate(timeout=240)
        file = tmp_path / "report"
        rows = [line.split("\t") for line in file.read_text().splitlines()] if file.exists() else []
        found = [row for row in rows if row[0] == str(process.pid)] or [[""] * 6]
        return Ran(process.returncode, out, err, found[0][2], found[0][5])

    return wait


@pytest.fixture
def ran(start, ended):
    """Run a program to its end."""

    def run(program, **options):
        return ended(start(program, **options))

    return run
