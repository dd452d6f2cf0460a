"""Tables in narrow terminals: nothing is cut off, and no two names become alike."""

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from coldsoak.model.result import Series
from coldsoak.report.console import print_sheet
from coldsoak.report.layout import fit, shortened
from coldsoak.report.select import once_told
from coldsoak.report.sheet import Column, Sheet

FIGURES = (Column("run 0\nms", right=True), Column("later\nms", right=True))


def printed(sheet, width):
    out = io.StringIO()
    print_sheet(sheet, Console(file=out, width=width))
    return out.getvalue()


def names_sheet(*names):
    rows = tuple((name, f"{12.5 + n:.1f}", f"{1.25 + n:.2f}") for n, name in enumerate(names))
    return Sheet("Regions", (Column("region", name=True), *FIGURES), rows)


def test_a_table_that_fits_is_left_alone():
    sheet = names_sheet("load", "train")
    assert fit(sheet, 80).sheet == sheet
    assert fit(sheet, 80).gap == 2


def test_columns_come_closer_before_anything_is_cut():
    sheet = names_sheet("a" * 20, "b" * 20)
    layout = fit(sheet, 20 + 5 + 5 + 2)
    assert (layout.sheet, layout.gap) == (sheet, 1)


def test_a_long_name_loses_its_middle():
    text = printed(names_sheet("train_step_of_the_model_with_attention (train.py:10-20)", "x"), 60)
    assert "  train_step_of_the_mode…tion (train.py:10-20)   12.5   1.25\n" in text


def test_names_that_would_become_alike_are_stacked_whole():
    one, other = (f"{'a' * 45}{letter}{'b' * 45}" for letter in "xy")
    lines = printed(names_sheet(one, other), 50).splitlines()
    assert lines[2:] == [
        "    run 0  later",
        "       ms     ms",
        f"  {one[:48]}",
        f"  {one[48:]}",
        "     12.5   1.25",
        f"  {other[:48]}",
        f"  {other[48:]}",
        "     13.5   2.25",
    ]


def test_texts_fold_between_words():
    sheet = Sheet(
        "Not tried",
        (Column("remedy"), Column("why")),
        (("tf.onednn", "the command does not import tensorflow, so that nothing is at stake"),),
    )
    text = printed(sheet, 50)
    assert max(map(len, text.splitlines())) <= 50
    assert " ".join(text.split()).endswith(
        "tf.onednn the command does not import tensorflow, so that nothing is at stake"
    )
    assert "…" not in text


def test_bars_go_first():
    sheet = Sheet(
        "Phases",
        (Column("phase"), Column("ms", right=True), Column("", graphic=True)),
        (("imports", "12.0", "█" * 28),),
    )
    assert "█" in printed(sheet, 60)
    assert printed(sheet, 30).splitlines()[-1] == "  imports  12.0"


@given(st.lists(st.text("ab…", max_size=40), max_size=6), st.integers(4, 20))
def test_shortened_names_stay_apart(names, width):
    cut = shortened(names, width)
    if cut is None:
        return
    assert all(len(text) <= width for text in cut)
    for (one, short), (other, cut_other) in itertools.combinations(zip(names, cut, strict=True), 2):
        assert (one == other) == (short == cut_other)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    names = [f"{'name_' * n}{n}" for n in (1, 5, 12)]
    columns = (Column("region", name=True), Column("case", name=True), *FIGURES, Column("steady"))
    rows = tuple(
        (name, f"device=cuda:{n}", "12", "3", "warming (4)") for n, name in enumerate(names)
    )
    text = printed(Sheet("Regions", columns, rows), width)
    assert max(map(len, text.splitlines())) <= width
    for row in rows:
        assert row[1] in text


def series(**case):
    return Series(id=str(case), kind="clock", label="work", case=case)


def test_values_that_say_an_earlier_one_again_are_left_out():
    kin = [series(device="cpu", d="cpu", n="1"), series(device="gpu", d="gpu", n="1")]
    assert once_told(kin[0], kin) == {"device": "cpu", "n": "1"}
    apart = [*kin, series(device="gpu", d="cpu", n="2")]
    assert once_told(apart[0], apart) == {"device": "cpu", "d": "cpu", "n": "1"}
