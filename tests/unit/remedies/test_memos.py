"""Recording answers with the command's interpreter: what cannot be recorded says why."""

import sys
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from coldsoak.errors import CommandFailed
from coldsoak.remedies.memos import memo_file, record_memo

MODULE = """
class VecISA:
    _macro, _arch_flags = [], '-mx'
    def build_arch_flags(self):
        return self._arch_flags
    def check_build(self{more}, code):
        return {loads}
def valid_vec_isa_list():
    return VecISA().check_build('x')
"""


@pytest.fixture
def context(made, tmp_path):
    """A command of this interpreter in a folder with a torch of a few lines."""

    def make(*argv, more="", loads=False):
        (tmp_path / "torch" / "_inductor").mkdir(parents=True, exist_ok=True)
        for name in ("torch/__init__.py", "torch/_inductor/__init__.py"):
            (tmp_path / name).write_text("__version__ = '2.9'\n")
        text = MODULE.format(more=more, loads=loads)
        (tmp_path / "torch" / "_inductor" / "cpu_vec_isa.py").write_text(text)
        plain = made.context(tmp_path / "store")
        arm = changed(plain.diagnosis.arms[0], argv=argv or (sys.executable, "program.py"))
        diagnosis = changed(plain.diagnosis, arms=(changed(arm, cwd=str(tmp_path)),))
        return replace(plain, diagnosis=diagnosis, environment={"PATH": "/usr/bin:/bin"})

    return make


def test_a_command_that_is_no_python_program_has_nothing_to_record(context):
    with pytest.raises(CommandFailed, match="not a Python program"):
        record_memo(context("true"), "isa")


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ({"more": ", flags"}, "torch 2.9 makes its trials in a way that is not known"),
        ({"loads": False}, "no trial of vector instructions succeeds here"),
        ({"loads": "1 / 0"}, "ZeroDivisionError: division by zero"),
    ],
)
def test_what_cannot_be_recorded_says_why_and_leaves_no_older_record(context, shape, why):
    made = context(**shape)
    file = memo_file(made, "isa")
    file.parent.mkdir(parents=True)
    file.write_text("of last year")
    with pytest.raises(CommandFailed) as caught:
        record_memo(made, "isa")
    assert caught.value.why == why
    assert not file.exists()
