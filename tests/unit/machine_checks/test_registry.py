"""All checks together, and their page."""

from pathlib import Path

import pytest

from coldsoak.machine.checks.base import GROUPS, text_of
from coldsoak.machine.checks.interpreter import Interpreter
from coldsoak.machine.checks.registry import CHECKS, document, examine
from coldsoak.machine.checks.subject import Subject

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"


def test_codes_are_unique_and_every_check_explains_itself():
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    for check in CHECKS:
        assert check.group in GROUPS
        title, _, text = text_of(check).partition("\n")
        assert title.endswith(".")
        assert len(text.split()) > 15, check.code


def test_the_page_has_the_text_of_every_check():
    assert "\n".join(document()) in PAGE.read_text(encoding="utf-8")


def test_every_check_answers_on_an_empty_machine(tmp_path):
    found = examine(Subject(environment={}, root=tmp_path))
    assert found.count("unknown") == 0
    codes = {one.code for section in found.sections for one in section.verdicts}
    assert {"load", "cpu-quota", "governor", "variable", "cupti"} <= codes


def test_the_worst_comes_first(tmp_path):
    environment = {"CUDA_LAUNCH_BLOCKING": "1", "LD_BIND_NOW": "1"}
    found = examine(Subject(environment=environment, root=tmp_path))
    states = [section.verdicts[0].state for section in found.sections]
    rank = ["bad", "warn", "unknown", "ok"]
    assert states == sorted(states, key=rank.index)
    assert found.count("bad") >= 1


def test_a_silent_interpreter_is_told(tmp_path):
    python = Interpreter(executable="/x/python", error="no answer within 15 s")
    found = examine(Subject(environment={}, root=tmp_path, python=python))
    (section,) = (one for one in found.sections if one.group == "interpreter")
    assert section.verdicts[0].state == "unknown"
    assert "no answer within 15 s" in section.verdicts[0].what


@pytest.mark.parametrize("error", [PermissionError("not yours"), ValueError("nonsense")])
def test_a_check_that_fails_stops_no_other(tmp_path, error):
    def broken(_file):
        raise error

    lib = tmp_path / "pack" / "lib.so"
    lib.parent.mkdir()
    lib.write_bytes(b"\0" * (2 << 20))
    python = Interpreter(packages={"pack": str(lib.parent)}, tag="t")
    found = examine(Subject(environment={}, root=tmp_path, python=python, resident=broken))
    states = {one.code: one.state for section in found.sections for one in section.verdicts}
    assert states["page-cache"] == "unknown"
    assert any(str(error) in one.what for section in found.sections for one in section.verdicts)
    assert states["perf"] == "warn"
