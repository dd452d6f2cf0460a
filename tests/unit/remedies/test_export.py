"""A recipe for people who will not use coldsoak in production."""

import json
import subprocess

import pytest

from coldsoak.model.recipe import Ingredient, Preheat, Recipe
from coldsoak.remedies.export import FORMS, export

ODD = "/a folder/it's $HOME"


@pytest.fixture
def recipe():
    return Recipe(
        version="1",
        created="2026-11-30",
        command=("python", "train.py"),
        goal="first-result",
        before_s=4.0,
        after_s=1.5,
        ratio=0.375,
        ingredients=(
            Ingredient(
                remedy="py.pyc",
                kind="cache",
                title="bytecode",
                env={"PYTHONPYCACHEPREFIX": ODD},
                unset=("PYTHONDONTWRITEBYTECODE",),
            ),
        ),
        preheat=Preheat(context=True, gc=("torch",)),
    )


def test_a_shell_ends_up_with_the_variables_of_the_recipe(recipe):
    script = (
        export(recipe, "shell")
        + 'printf "%s|%s" "$PYTHONPYCACHEPREFIX" "${PYTHONDONTWRITEBYTECODE-none}"'
    )
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{ODD}|none"


def test_a_manifest_has_the_same_variables(recipe):
    lines = [line for line in export(recipe, "kubernetes").splitlines() if line[0] != "#"]
    assert lines[0] == "env:"
    names = [line.removeprefix("  - name: ") for line in lines[1::2]]
    values = [json.loads(line.removeprefix("    value: ")) for line in lines[2::2]]
    pairs = dict(zip(names, values, strict=True))
    assert pairs == {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ODD}


def test_a_dockerfile_sets_them_and_says_what_to_take_out(recipe):
    text = export(recipe, "docker")
    assert 'ENV PYTHONDONTWRITEBYTECODE=""' in text
    assert 'ENV PYTHONPYCACHEPREFIX="/a folder/it\'s \\$HOME"' in text
    assert "remove ENV PYTHONDONTWRITEBYTECODE" in text


@pytest.mark.parametrize("form", FORMS)
def test_what_only_coldsoak_can_do_is_named(recipe, form):
    text = export(recipe, form)
    assert "only with coldsoak (exec or preheat): CUDA context on a thread" in text
    assert "fill /a folder" in text
