"""``coldsoak exec`` as production types it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import coldsoak as package
from coldsoak.remedies.apply import cpu_flags_hash

HEAD = 'format = 1\nversion = "0"\ncommand = ["python", "program.py"]\n'
INGREDIENT = """
[[ingredients]]
remedy = "threads"
kind = "avoid"
title = "Fewer threads"
env = { OMP_NUM_THREADS = "1" }
unset = ["LEFT_OVER"]
"""


@pytest.fixture
def execute(tmp_path):
    """Run ``coldsoak exec`` in a folder with the recipe ``r.toml``."""

    def run(*words, recipe=HEAD + INGREDIENT, options=(), **environment):
        if recipe is not None:
            (tmp_path / "r.toml").write_text(recipe)
        keep = {n: v for n, v in os.environ.items() if not n.startswith(("COLDSOAK", "OMP"))}
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "coldsoak",
                "exec",
                "--recipe",
                "r.toml",
                *options,
                "--",
                *words,
            ],
            cwd=tmp_path,
            env=keep | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


DAMAGED = "The recipe r.toml is damaged."
SHOW = "import os; print(os.environ.get('OMP_NUM_THREADS'), os.environ.get('LEFT_OVER'))"


def test_variables_are_set_and_removed(execute):
    done = execute(sys.executable, "-c", SHOW, LEFT_OVER="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 None\n", "")


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_the_exit_status_is_the_commands(execute, status):
    assert execute("sh", "-c", f"exit {status}").returncode == status


def test_a_signal_is_the_commands(execute):
    assert execute("sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


def test_the_command_is_the_same_process(tmp_path):
    """It is replaced and not waited for, so that signals and limits reach the command."""
    (tmp_path / "r.toml").write_text(HEAD + INGREDIENT)
    words = [sys.executable, "-m", "coldsoak", "exec", "--recipe", "r.toml", "sh", "-c", "echo $$"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.read()) == process.pid


def test_the_commands_own_options_are_left_alone(execute):
    done = execute("echo", "--quiet", "--recipe", "x", "-h")
    assert done.stdout == "--quiet --recipe x -h\n"


def test_nothing_heavy_is_imported():
    code = (
        "import sys; from coldsoak.cli.exec import execute; import coldsoak.remedies.apply\n"
        "from coldsoak.cli import main\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'typer', 'rich', 'msgspec', "
        "'scipy', 'numpy', 'dataclasses', 'typing', 'pathlib', 'inspect'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (None, "The recipe r.toml cannot be read."),
        ("", "r.toml is not a recipe."),
        ("format = [", "r.toml is not a recipe."),
        ("format = 1\n", "r.toml is not a recipe."),
        ('format = "1"\ningredients = []\n', "r.toml is not a recipe."),
        ("\x00\x01", "r.toml is not a recipe."),
        ("format = 1\ningredients = 3\n", DAMAGED),
        ("format = 1\ningredients = [1]\n", DAMAGED),
        (HEAD + "[[ingredients]]\nenv = { A = 1 }\n", DAMAGED),
        (HEAD + "[[ingredients]]\nenv = 1\n", DAMAGED),
        (HEAD + "[[ingredients]]\nunset = [1]\n", DAMAGED),
        (HEAD + "preheat = 1\n" + INGREDIENT, DAMAGED),
        (HEAD + INGREDIENT + "[preheat.memos]\nisa = 1\n", DAMAGED),
        ("format = 2\ningredients = []\n", "r.toml is a recipe of format 2"),
    ],
)
def test_a_recipe_that_cannot_be_used_is_refused(execute, recipe, words):
    done = execute("echo", "ran", recipe=recipe)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_recipe_that_is_not_text_is_refused(execute, tmp_path):
    (tmp_path / "r.toml").write_bytes(b"\xff\xfe\x00")
    done = execute("echo", "ran", recipe=None)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a recipe" in done.stderr


def test_a_command_that_is_not_there(execute):
    done = execute("no-such-command-here")
    assert done.returncode == 1
    assert "no-such-command-here cannot be started." in done.stderr


@pytest.mark.parametrize("words", [[], ["--recipe"], ["--warp"], ["--recipe", "r.toml", "--"]])
def test_a_command_line_without_sense(words, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coldsoak", "exec", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "coldsoak exec" in done.stderr


def fingerprint(**pieces):
    lines = [f"{name} = {value}" for name, value in pieces.items()]
    return "[fingerprint]\n" + "\n".join(lines) + "\n"


SITE = str(Path(package.__file__).parents[1])


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ({"machine": '"m68k"'}, "threads is off: proved on m68k, this machine is"),
        ({"cpu_flags": '"0"'}, "threads is off: proved on a processor with other features"),
        (
            {"site": f'"{SITE}"', "packages": '{ some-package = "9.9" }'},
            "threads is off: it was proved with some-package 9.9, which is not in",
        ),
    ],
)
@pytest.mark.parametrize("quiet", [False, True])
def test_what_does_not_fit_is_switched_off_and_said(execute, pieces, message, quiet):
    recipe = HEAD + INGREDIENT + 'needs = ["some-package"]\n' + fingerprint(**pieces)
    options = ["--quiet"] if quiet else []
    done = execute(sys.executable, "-c", SHOW, recipe=recipe, options=options, LEFT_OVER="1")
    assert (done.returncode, done.stdout) == (0, "None 1\n")
    assert (message in done.stderr) is not quiet
    assert not (quiet and done.stderr)


def test_one_ingredient_that_does_not_fit_leaves_the_others(execute):
    other = INGREDIENT.replace('"threads"', '"other"').replace("OMP_NUM_THREADS", "LEFT_OVER")
    recipe = (
        HEAD
        + INGREDIENT
        + 'needs = ["some-package"]\n'
        + other.replace('unset = ["LEFT_OVER"]', "")
    )
    recipe += fingerprint(site=f'"{SITE}"', packages='{ some-package = "9.9" }')
    done = execute(sys.executable, "-c", SHOW, recipe=recipe)
    assert done.stdout == "None 1\n"
    assert done.stderr.count("is off") == 1


def test_a_fingerprint_that_fits_switches_nothing_off(execute):
    pieces = {"machine": f'"{os.uname().machine}"', "cpu_flags": f'"{cpu_flags_hash()}"'}
    done = execute(sys.executable, "-c", SHOW, recipe=HEAD + INGREDIENT + fingerprint(**pieces))
    assert (done.stdout, done.stderr) == ("1 None\n", "")


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="there is a card")
def test_the_context_of_a_recipe_is_off_without_a_card(execute):
    recipe = HEAD + INGREDIENT + "[preheat]\ncontext = true\n"
    done = execute(sys.executable, "-c", SHOW, recipe=recipe)
    assert (done.returncode, done.stdout) == (0, "1 None\n")
    assert done.stderr == "coldsoak: the context is off: no NVIDIA driver here\n"


def test_recorded_answers_that_are_gone_or_of_a_newer_kind_are_said(execute, tmp_path):
    (tmp_path / "keys.json").touch()
    memos = f'isa = "/nowhere/isa.json"\nkeys = "{tmp_path}/keys.json"\nwarp = "/x"\n'
    recipe = HEAD + INGREDIENT + "[preheat.memos]\n" + memos
    done = execute("sh", "-c", 'echo "$COLDSOAK_PREHEAT"', recipe=recipe)
    assert done.stdout == f"script program.py\nkeys {tmp_path}/keys.json\n"
    assert "isa is off: /nowhere/isa.json is not there" in done.stderr
    assert "warp is off: this version of coldsoak does not know it" in done.stderr


def test_a_record_that_is_gone_switches_the_readahead_off(execute):
    recipe = HEAD + INGREDIENT + '[preheat]\nreadahead = "/nowhere/ranges.tsv"\n'
    done = execute("true", recipe=recipe)
    assert done.returncode == 0
    assert "readahead is off: /nowhere/ranges.tsv is not there" in done.stderr


def test_the_plan_reaches_the_script_and_no_other_process(execute, tmp_path):
    (tmp_path / "program.py").write_text(
        "import gc, os, subprocess, sys\n"
        "import json\n"
        "print(gc.get_freeze_count() > 0, os.environ.get('PYTHONPATH'), flush=True)\n"
        "subprocess.run([sys.executable, 'child.py'], check=True)\n"
    )
    (tmp_path / "child.py").write_text("import gc, json; print(gc.get_freeze_count())")
    recipe = HEAD + INGREDIENT + '[preheat]\ngc = ["json"]\n'
    done = execute(sys.executable, "program.py", recipe=recipe, PYTHONPATH="/a")
    assert done.stdout == "True /a\n0\n", done.stderr
    other = execute(sys.executable, "child.py", recipe=recipe)
    assert other.stdout == "0\n"
    assert other.stderr == "coldsoak: preheat is for program.py, child.py itself is not preheated\n"
    assert done.stderr == ""
