"""``coldsoak.preheat()`` at the top of a program."""

import os
import subprocess
import sys

import pytest

RECIPE = """
format = 1
command = ["python", "another.py"]
[[ingredients]]
remedy = "threads"
env = { OMP_NUM_THREADS = "1", PYTHONPYCACHEPREFIX = "/tmp/of-the-recipe" }
unset = ["LEFT_OVER", "PYTHONDONTWRITEBYTECODE"]
needs = ["fractions"]
[preheat]
gc = ["decimal"]
"""


@pytest.fixture
def program(tmp_path):
    """Run a program in a folder with a recipe; ``None`` for no recipe."""

    def run(text, recipe=RECIPE):
        if recipe is not None:
            (tmp_path / "coldsoak.recipe.toml").write_text(recipe)
        keep = {n: v for n, v in os.environ.items() if not n.startswith(("COLDSOAK", "OMP"))}
        return subprocess.run(
            [sys.executable, "-c", text],
            cwd=tmp_path,
            env=keep | {"LEFT_OVER": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_variables_and_stages_are_applied_at_once(program):
    done = program(
        "import coldsoak, os, sys; path = list(sys.path); handle = coldsoak.preheat()\n"
        "import decimal\n"
        "print(os.environ['OMP_NUM_THREADS'], 'LEFT_OVER' in os.environ, sys.pycache_prefix, "
        "sys.dont_write_bytecode, sys.path == path)\n"
        "print(handle.wait(5), handle.report()['gc'][:2])"
    )
    assert done.stderr == ""
    assert done.stdout == "1 False /tmp/of-the-recipe False True\nTrue ('done', 'decimal')\n"


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        (None, "coldsoak.recipe.toml cannot be read"),
        ("format = [", "is not a recipe"),
        ("format = 1\ningredients = 3", "is damaged"),
        ("format = 9\ningredients = []", "is a recipe of format 9"),
    ],
)
def test_a_recipe_that_cannot_be_used_is_said_and_the_program_runs(program, recipe, text):
    done = program("import coldsoak; print(coldsoak.preheat().report())", recipe)
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert text in done.stderr


def test_what_does_not_fit_is_switched_off(program):
    recipe = RECIPE + '[fingerprint]\nmachine = "m68k"\n'
    done = program(
        "import coldsoak, os; handle = coldsoak.preheat()\n"
        "print('OMP_NUM_THREADS' in os.environ, handle.report())",
        recipe,
    )
    assert (done.returncode, done.stdout) == (0, "False {}\n")
    assert "threads is off: proved on m68k" in done.stderr


def test_a_call_that_comes_too_late_is_said(program):
    done = program("import fractions, coldsoak; coldsoak.preheat(); print('ran')")
    assert done.stdout == "ran\n"
    assert "fractions is imported already; call preheat() before it" in done.stderr


def test_exec_and_the_call_together_preheat_once(program, tmp_path):
    (tmp_path / "coldsoak.recipe.toml").write_text(RECIPE.replace("another.py", "app.py"))
    (tmp_path / "app.py").write_text(
        "import coldsoak; first = coldsoak.preheat(); second = coldsoak.preheat()\n"
        "import decimal; print(first is second, first.report()['gc'][:2])"
    )
    words = [sys.executable, "-m", "coldsoak", "exec", "--", sys.executable, "app.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "True ('done', 'decimal')\n", done.stderr
