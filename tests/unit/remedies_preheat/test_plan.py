"""Which process a plan is for, and what is left of it afterwards."""

import pytest

from coldsoak.remedies.apply import INJECT, apply

COMMANDS = [
    (["python", "train.py", "--lr", "1"], "train.py"),
    (["python", "/a/b/train.py", "-m", "x"], "train.py"),
    (["python3.12", "-u", "train.py"], "train.py"),
    (["python", "-X", "importtime", "-W", "error", "train.py"], "train.py"),
    (["python", "-Ximporttime", "-Werror", "-OO", "train.py"], "train.py"),
    (["python", "-m", "pkg.tool", "train.py"], "pkg.tool"),
    (["python", "-mpkg"], "pkg"),
    (["python", "-um", "pkg", "x"], "pkg"),
    (["python", "-c", "print(1)", "train.py"], "-c"),
    (["python", "-Bc", "print(1)"], "-c"),
    (["python", "--check-hash-based-pycs", "never", "train.py"], "train.py"),
    (["python", "-"], "-"),
]


@pytest.fixture
def agent(agent_module):
    return agent_module("preheat")


@pytest.mark.parametrize(("words", "name"), COMMANDS)
def test_recipe_and_agent_agree_on_the_name_of_a_script(agent, words, name):
    assert agent.script_name(words) == name
    plan = apply({"command": words, "preheat": {"gc": ["numpy"]}}).plan
    assert plan == f"script {name}\ngc numpy"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["mytool", "serve", "--port", "1"], "mytool"),
        (["/opt/bin/mytool", "x"], "mytool"),
        (["nice", "-n", "5", "python", "train.py", "a"], "train.py"),
        (["torchrun", "--nproc-per-node", "2", "train.py"], "train.py"),
        ([], ""),
    ],
)
def test_the_script_of_commands_that_are_no_interpreter(words, name):
    plan = apply({"command": words, "preheat": {"gc": ["numpy"]}}).plan
    assert plan == (f"script {name}\n" if name else "") + "gc numpy"


PRINT = "import os, sys; print(sorted(n for n in os.environ if n.startswith('COLDSOAK')))"


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["program.py"], "program.py"),
        (["-m", "program"], "program"),
        (["-c", PRINT], "-c"),
        (["-uc", PRINT], "-c"),
    ],
)
def test_a_script_a_module_and_a_text_are_preheated(preheated, tmp_path, words, script):
    (tmp_path / "program.py").write_text(PRINT)
    ran = preheated(words, f"script {script}", "context 0")
    assert ran.out == "[]\n"
    assert ran.called("retain")


def test_another_script_leaves_the_plan_to_its_children(preheated, tmp_path):
    (tmp_path / "worker.py").write_text(PRINT)
    program = "import subprocess, sys; subprocess.run([sys.executable, 'worker.py'], check=True)"
    ran = preheated(program, "script worker.py", "context 0")
    assert ran.out == "[]\n"
    assert len(ran.called("retain")) == 1


def test_the_inject_folder_leaves_the_path_of_children(preheated):
    program = "import os; print(os.environ.get('PYTHONPATH'))"
    assert preheated(program, "context 0", PYTHONPATH=f"{INJECT}").out == "None\n"
    assert preheated(program, "context 0", PYTHONPATH=f"{INJECT}:/a:/b").out == "/a:/b\n"


def test_a_process_is_preheated_once(preheated):
    program = (
        "from coldsoak_agent import preheat\n"
        "first = preheat.handle\n"
        "print(preheat.start('context 0') is first)\n"
    )
    ran = preheated(program, "context 0")
    assert ran.out == "True\n"
    assert len(ran.called("retain")) == 1


def test_unknown_words_of_a_newer_plan_are_passed_over(preheated):
    ran = preheated("print('ran')", "warp 9", "context 0")
    assert (ran.status, ran.out, ran.err) == (0, "ran\n", "")
    assert ran.called("retain")
