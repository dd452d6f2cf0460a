"""Findings about causes on real processes that need no framework, each with its negative control."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from coldsoak.model.result import Result

VICTIMS = Path(__file__).parents[1] / "victims" / "findings"


@pytest.fixture
def measured(tmp_path):
    """Return a function that runs the tool on a victim and gives its result."""

    def run(name, *options, without=False, **env):
        target = tmp_path / f"{name}-{without}.json"
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [sys.executable, "-m", "coldsoak", "run", "--launches", "2", "--json", str(target),
             *options, "--", sys.executable, str(VICTIMS / f"{name}.py")],
            check=False, capture_output=True, text=True, timeout=280,
            env={**clean, "COLDSOAK_HOME": str(tmp_path / "home"),
                 "VICTIM_FOLDER": str(tmp_path / "folder"),
                 **({"VICTIM_WITHOUT": "1"} if without else {}), **env},
        )  # fmt: skip
        assert target.exists(), done.stderr
        return msgspec.json.decode(target.read_bytes(), type=Result)

    return run


def findings(result, code):
    return [one for one in result.findings if one.code == code]


@pytest.fixture
def crowd(tmp_path):
    """A package of 150 modules that take a while to compile."""
    folder = tmp_path / "folder" / "crowd"
    folder.mkdir(parents=True)
    body = "".join(f"def f{i}(a, b):\n    return [a * {i} for b in range(a)]\n" for i in range(40))
    for number in range(150):
        (folder / f"m{number}.py").write_text(body)
    names = ", ".join(f"m{number}" for number in range(150))
    text = f"from crowd import {names}\ndef answer():\n    return 42\n"
    (folder / "__init__.py").write_text(text)
    return folder


def test_modules_that_are_compiled_each_time(measured, crowd):
    here = measured("cause_modules", "--no-trace", PYTHONDONTWRITEBYTECODE="1")
    (finding,) = findings(here, "bytecode-missing")
    assert finding.seconds > 0.05
    assert "crowd" in finding.evidence[0]
    kept = measured("cause_modules", "--no-trace", without=True)
    assert not findings(kept, "bytecode-missing")
    assert not findings(kept, "bytecode-unwritable")


def test_bytecode_that_has_no_place(measured, crowd, tmp_path):
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "cache")
    here = measured("cause_modules", "--no-trace", PYTHONPYCACHEPREFIX=nowhere)
    (finding,) = findings(here, "bytecode-unwritable")
    assert nowhere in finding.settle


def test_imports_inside_the_region_and_before_it(measured, crowd):
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    (finding,) = findings(measured("cause_modules", **env), "import-inside-region")
    assert (Path(finding.file).name, finding.line) == ("cause_modules.py", 10)
    assert "crowd" in finding.text
    assert not findings(measured("cause_modules", without=True, **env), "import-inside-region")


def test_waiting_for_a_slow_server(measured):
    (finding,) = findings(measured("cause_network"), "network-at-start")
    assert finding.seconds == pytest.approx(0.3, abs=0.1)
    assert not findings(measured("cause_network", without=True), "network-at-start")


def test_waiting_for_a_file_lock(measured):
    (finding,) = findings(measured("cause_lock"), "stale-lock")
    assert finding.seconds == pytest.approx(0.5, abs=0.2)
    assert not findings(measured("cause_lock", without=True), "stale-lock")


def test_children_that_only_probe(measured):
    (finding,) = findings(measured("cause_probes", "--no-trace"), "probe-children")
    assert "3 Python children" in finding.text
    assert finding.seconds > 0.3
    assert not findings(measured("cause_probes", "--no-trace", without=True), "probe-children")
