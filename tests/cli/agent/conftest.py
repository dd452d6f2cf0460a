"""Interpreters, and two ways to run a program: as it is, and with the agent inside."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak.model import spool

INJECT = Path(spool.__file__).parents[1] / "inject"
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


def _interpreter(version: str) -> str | None:
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    roots = [os.environ.get("PYENV_ROOT"), str(Path.home() / ".pyenv")]
    for root in filter(None, roots):
        for found in sorted(Path(root).glob(f"versions/{version}.*/bin/python"), reverse=True):
            return str(found)
    found = shutil.which(f"python{version}")
    works = (
        found and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode
    )
    return found if works else None


@pytest.fixture(params=VERSIONS, scope="session")
def python(request):
    path = _interpreter(request.param)
    if path is None:
        pytest.skip(f"Python {request.param} is not installed")
    return path


@dataclasses.dataclass
class Ran:
    """What a program did and, with the agent, what the agent wrote."""

    returncode: int
    output: bytes
    files: list[list[spool.Record]] = dataclasses.field(default_factory=list)

    @property
    def records(self) -> list[spool.Record]:
        return [record for file in self.files for record in file]

    def of(self, kind: type) -> list:
        return [record for record in self.records if isinstance(record, kind)]

    def phases(self) -> dict[str, spool.Phase]:
        return {phase.name: phase for phase in self.of(spool.Phase)}


def read(folder: Path) -> list[list[spool.Record]]:
    files = sorted(folder.glob("*.jsonl"), key=lambda path: int(path.stem.split("-")[1]))
    return [
        [spool.DECODER.decode(line) for line in path.read_bytes().splitlines()] for path in files
    ]


class Runner:
    """Runs one program in a folder of its own; stderr and stdout in one stream, as they come."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.count = 0

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("COLDSOAK", "PYTHON"))}
        return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **extra}

    def plain(self, command: list[str], stdin: bytes = b"", **environ: str) -> Ran:
        done = subprocess.run(
            command,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=self.environment(**environ),
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout)

    def agent(self, command: list[str], stdin: bytes = b"", **environ: str) -> Ran:
        self.count += 1
        folder = self.folder.parent / f"spool-{self.folder.name}-{self.count}"
        folder.mkdir()
        path = os.pathsep.join(filter(None, [str(INJECT), environ.pop("PYTHONPATH", "")]))
        environ = {"COLDSOAK_SPOOL": str(folder), "PYTHONPATH": path, **environ}
        ran = self.plain(command, stdin, **environ)
        ran.files = read(folder)
        return ran


@pytest.fixture
def runner(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Runner(folder)
