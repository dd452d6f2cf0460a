"""``coldsoak fix`` as a user types it: real processes, a real recipe, applied for real."""

import json
import os
import signal
import subprocess
import sys

import pytest

from coldsoak.remedies.recipe import read

SCRIPT = """
import sys, time
sys.path.insert(0, {packages!r})
import heavy
import coldsoak

def step():
    start = time.perf_counter()
    total = sum(range(20_000))
    return time.perf_counter() - start

for n in range(4):
    print("step", n, "took", step(), "s")
with open("left.txt", "w") as file:
    file.write(str(sys.pycache_prefix))
print("answer", heavy.module_3.function_3(2, 4))
coldsoak.output([heavy.module_1.function_1(1)], "answer")
"""
MODULES, FUNCTIONS = 40, 120


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A program that imports a package of some thousand functions, whose bytecode is not kept."""
    work = tmp_path_factory.mktemp("work")
    package = work / "site-packages" / "heavy"
    package.mkdir(parents=True)
    names = [f"module_{n}" for n in range(MODULES)]
    package.joinpath("__init__.py").write_text("".join(f"from heavy import {n}\n" for n in names))
    body = "".join(
        f"def function_{n}(a, b=1, *rest, **named):\n"
        f"    found = [a + k * {n} for k in range(b)]\n"
        "    return {'found': found, 'rest': (a, b, rest, named)}\n\n"
        for n in range(FUNCTIONS)
    )
    for name in names:
        package.joinpath(f"{name}.py").write_text(body)
    (work / "program.py").write_text(SCRIPT.format(packages=str(package.parent)))
    return work


def environment(work):
    keep = {name: value for name, value in os.environ.items() if not name.startswith("COLDSOAK")}
    own = {"COLDSOAK_HOME": str(work / "home"), "NO_COLOR": "1", "COLUMNS": "80"}
    return keep | own | {"PYTHONDONTWRITEBYTECODE": "1"}


def coldsoak(work, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "coldsoak", *arguments],
        cwd=work,
        env=environment(work),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **options,
    )


COMMAND = ["--", sys.executable, "program.py"]


@pytest.fixture(scope="module")
def fixed(work):
    done = coldsoak(work, "fix", "--pairs", "7", "--remedy", "py.pyc", *COMMAND)
    assert done.returncode == 0, done.stderr
    return done


def test_the_answer_says_what_was_gained_and_that_it_took_effect(fixed):
    assert fixed.stdout.startswith("py.pyc: the first result after ")
    assert "in the recipe" in fixed.stdout
    assert "compiling modules took" in fixed.stdout
    assert "placebo" in fixed.stdout
    assert all(len(line) <= 80 for line in fixed.stdout.splitlines() if "coldsoak exec" not in line)


def test_the_recipe_reproduces_the_saving_in_fresh_processes(work, fixed):
    recipe = read(work / "coldsoak.recipe.toml")
    assert [one.remedy for one in recipe.ingredients] == ["py.pyc"]
    assert recipe.after_s < recipe.before_s
    compiled = [
        sum(
            cost.get("compile_ns", 0)
            for process in launch["processes"]
            for cost in process.get("imports", ())
            if cost["package"] == "heavy"
        )
        for launch in measured(work, "coldsoak", "exec", "--", *COMMAND[1:])
    ]
    assert compiled
    assert not any(compiled)


def measured(work, *command):
    """Measure a command; return its launches as plain tables."""
    argv = [sys.executable, "-m", *command] if command[0] == "coldsoak" else list(command)
    done = coldsoak(
        work, "run", "--launches", "2", "--no-trace", "--force", "--json", "out.json", "--", *argv
    )
    assert done.returncode == 0, done.stderr
    return json.loads((work / "out.json").read_text())["launches"]


def test_the_stored_result_is_shown_again_and_has_every_launch(work, fixed):
    shown = coldsoak(work, "report", stored(work, "fix"))
    assert shown.returncode == 0, shown.stderr
    assert "What was tried" in shown.stdout


def test_a_recipe_is_told_in_words_and_as_plain_commands(work, fixed):
    assert "bytecode kept on disk" in coldsoak(work, "recipe").stdout
    shell = coldsoak(work, "recipe", "--as", "shell").stdout
    assert "unset PYTHONDONTWRITEBYTECODE" in shell
    assert "export PYTHONPYCACHEPREFIX=" in shell
    assert coldsoak(work, "recipe", "--as", "cobol").returncode == 2


def test_the_recipe_is_written_though_nobody_reads_the_answer(work):
    options = ("--pairs", "7", "--remedy", "py.pyc", "--output", "unread.toml")
    process = subprocess.Popen(
        [sys.executable, "-m", "coldsoak", "fix", *options, *COMMAND],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 0, errors
    assert [one.remedy for one in read(work / "unread.toml").ingredients] == ["py.pyc"]


def test_an_output_that_exists_is_kept_before_anything_is_launched(work, fixed):
    done = coldsoak(work, "fix", *COMMAND)
    assert done.returncode == 2
    assert "--force" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--goal", "fame"], "no goal fame"),
        (["--remedy", "py.pick"], "no remedy py.pick"),
        (["--from", "nowhere"], "no result nowhere"),
    ],
)
def test_a_wrong_option_is_explained(work, fixed, arguments, says):
    done = coldsoak(work, "fix", "--output", "other.toml", *arguments, *COMMAND)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_check_that_answers_differently_keeps_the_remedy_out(work, fixed):
    done = coldsoak(
        work, "fix", "--from", stored(work, "run"), "--pairs", "7", "--remedy", "py.pyc",
        "--check", "cat left.txt", "--output", "checked.toml", *COMMAND,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The one remedy that was tried is not proved" in done.stdout
    assert "the output --check is another one" in " ".join(done.stdout.split())
    assert not (work / "checked.toml").exists()


def stored(work, kind):
    """Return the id of the first stored result of a kind."""
    folder = work / "home" / "results"
    kinds = {
        one.name: json.loads((one / "result.json").read_text())["kind"] for one in folder.iterdir()
    }
    return next(name for name, found in sorted(kinds.items()) if found == kind)


def test_the_last_line_uses_the_recipe_that_was_written(work):
    options = ("--pairs", "7", "--remedy", "py.pyc", "--output", "mine.toml")
    done = coldsoak(work, "fix", *options, *COMMAND)
    assert done.returncode == 0, done.stderr
    *_, where, step = done.stdout.splitlines()
    assert where == "Recipe: mine.toml · coldsoak recipe mine.toml says what it does"
    assert step == f"Next: coldsoak exec --recipe mine.toml -- {sys.executable} program.py"
    again = coldsoak(work, "report")
    assert again.stdout.splitlines()[-2:] == [where, step]
    typed = coldsoak(work, *step.removeprefix("Next: coldsoak ").split())
    assert typed.returncode == 0, typed.stderr
    assert "answer" in typed.stdout


def test_an_answer_is_printed_though_the_recipe_cannot_be_written(work):
    folder = work / "gone"
    folder.mkdir()
    options = ("--pairs", "7", "--remedy", "py.pyc", "--output", "gone/mine.toml")
    check = f"rm -rf {folder}; touch {folder}"
    done = coldsoak(work, "fix", "--check", f"sh -c '{check}'", *options, *COMMAND)
    assert done.returncode == 2
    assert "What was tried" in done.stdout
    assert "mine.toml cannot be written." in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_before_the_trials_is_an_interrupt(work):
    process = subprocess.Popen(
        [sys.executable, "-m", "coldsoak", "fix", "--output", "never.toml", *COMMAND],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr.readline().startswith("First the command as it is")
    assert process.stderr.readline().startswith("discarded launch 1 of")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err.splitlines()[-1]) == ("", "coldsoak: interrupted")
