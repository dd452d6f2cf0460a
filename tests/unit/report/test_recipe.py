"""A recipe as it is read on a terminal."""

import io

import pytest
from rich.console import Console

from coldsoak.model.recipe import Fingerprint, Ingredient, Recipe
from coldsoak.remedies.recipe import encode
from coldsoak.report.console import print_sheet
from coldsoak.report.recipe import recipe_sheet

INGREDIENTS = (
    Ingredient(
        remedy="py.pyc",
        kind="cache",
        title="bytecode kept on disk",
        saved_s=1.51,
        saved_low_s=1.33,
        saved_high_s=1.84,
        risks=("the folder must not be writable by others",),
        env={"PYTHONPYCACHEPREFIX": "/a/folder/that/stays"},
        unset=("PYTHONDONTWRITEBYTECODE",),
    ),
    Ingredient(
        remedy="lib.blas_overlap",
        kind="overlap",
        title="context and cuBLAS beside imports",
        saved_s=0.256,
        saved_low_s=0.213,
        saved_high_s=0.289,
    ),
)


@pytest.fixture
def lines(tmp_path):
    recipe = Recipe(
        version="1",
        created="2026-11-30",
        command=("python", "train.py"),
        goal="first-result",
        before_s=3.8,
        after_s=1.9,
        ratio=0.5,
        ingredients=INGREDIENTS,
        fingerprint=Fingerprint(machine="pdp11"),
    )
    file = tmp_path / "r.toml"
    file.write_bytes(encode(recipe, file.name))
    stream = io.StringIO()
    print_sheet(recipe_sheet(recipe, file), Console(file=stream, width=80, highlight=False))
    return stream.getvalue().splitlines()


def test_nothing_is_cut_at_eighty_columns(lines):
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith("…") for line in lines)
    assert any("lib.blas_overlap  overlap" in line for line in lines)


def test_a_saving_and_its_interval_are_in_one_unit(lines):
    (row,) = [line for line in lines if "overlap  256 ms" in line]
    assert row.endswith("210 … 290 ms")


def test_what_it_changes_what_it_risks_and_what_is_off_is_said(lines):
    said = "\n".join(lines)
    assert "py.pyc sets PYTHONPYCACHEPREFIX=/a/folder/that/stays\n" in said
    assert "py.pyc removes PYTHONDONTWRITEBYTECODE\n" in said
    assert "Risk: py.pyc: the folder must not be writable by others." in said
    assert "Here py.pyc is off: proved on pdp11" in said
