"""Programs that are preheated for real, on a machine whose CUDA driver is a stand-in."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("standin_cuda.c")
CARD = """\
preheat_cuda.DEVICE_FILE = "/dev/null"
preheat_cuda.MIG_INSTANCES = "/nowhere"
preheat_cuda.MPS_PIPES = "/nowhere"
"""
"""What differs from a machine with a card: the device file, and where MPS and MIG would show."""


@dataclass(frozen=True)
class Call:
    """One call of the stand-in."""

    name: str
    at_ns: int
    thread: int
    value: str


@dataclass(frozen=True)
class Ran:
    """A preheated program that has ended."""

    status: int
    out: str
    err: str
    calls: tuple[Call, ...]
    stages: dict[str, tuple[str, str]]

    def called(self, name):
        return [call for call in self.calls if call.name == name]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A folder with libcuda.so.1, libcublas.so.13 and libslow.so, all of them stand-ins."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("standin")
    for name, options in (
        ("libcuda.so.1", []),
        ("libcublas.so.13", []),
        ("libslow.so", ["-DSLOW_CONSTRUCTOR"]),
    ):
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-w", *options, "-o", folder / name, SOURCE], check=True
        )
    return folder


@pytest.fixture
def preheated(tmp_path, libraries, changed_agent):
    """Run a program with a plan, as ``coldsoak exec`` would; returns what became of it.

    ``program`` is the text of ``program.py``, or the words after the interpreter.
    """

    def run(program, *plan, extra="", python=sys.executable, arguments=(), **environment):
        hook = changed_agent("preheat, preheat_cuda", CARD + extra)
        if isinstance(program, str):
            (tmp_path / "program.py").write_text(program)
            program = ["program.py"]
        log, report = tmp_path / "calls", tmp_path / "report"
        for old in (log, report):
            old.unlink(missing_ok=True)
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COLDSOAK", "CUDA"))
        }
        done = subprocess.run(
            [python, *program, *arguments],
            cwd=tmp_path,
            env=clean
            | {
                "PYTHONPATH": str(hook),
                "LD_LIBRARY_PATH": str(libraries),
                "STANDIN_LOG": str(log),
                "COLDSOAK_PREHEAT": "\n".join(plan),
                "COLDSOAK_PREHEAT_REPORT": str(report),
            }
            | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr, _calls(log), _stages(report))

    return run


def _calls(log):
    if not log.exists():
        return ()
    fields = (line.split(" ", 3) for line in log.read_text().splitlines())
    return tuple(Call(name, int(at), int(thread), value) for name, at, thread, value in fields)


def _stages(report):
    if not report.exists():
        return {}
    fields = (line.split("\t") for line in report.read_text().splitlines())
    return {field[1]: (field[2], field[5]) for field in fields}
