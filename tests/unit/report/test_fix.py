"""The answer of ``fix`` as it is read."""

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from coldsoak.model.estimate import Estimate, Ratio
from coldsoak.model.recipe import Ingredient, Recipe, Trial
from coldsoak.model.result import Arm, Launch, Note, Options, Result
from coldsoak.report.console import render
from coldsoak.report.fix import fix_headline, fix_notes, left_out_sheet
from coldsoak.report.markdown import markdown
from coldsoak.report.next_step import Reading


def an_estimate(point, half=0.1, n=8, **fields):
    low, high = point - half, point + half
    return Estimate(point=point, low=low, high=high, n=n, minimum=low, maximum=high, **fields)


def a_ratio(point, verdict, half=0.02):
    return Ratio(
        estimate=an_estimate(point, half, unit="ratio"),
        verdict=verdict,
        clear=verdict in {"faster", "slower"},
        threshold=0.05,
        hodges_lehmann=point,
    )


def a_trial(remedy, point, verdict, **fields):
    values = {
        "kind": "cache",
        "title": remedy,
        "arm": remedy,
        "ratio": a_ratio(point, verdict),
        "saved": an_estimate(4 * (1 - point)),
    }
    return Trial(remedy=remedy, **values | fields)


TRIALS = (
    a_trial("jax.cache_thresholds", 0.98, "same", proof="3 files in the cache"),
    a_trial("py.pyc", 0.55, "faster", in_recipe=True, took_effect=True, proof="compiled nothing"),
    a_trial("cuda.module_eager", 2.1, "slower"),
    a_trial(
        "jax.autotune_level",
        0.8,
        "faster",
        numerics="may change",
        why="results may change; --numerics allows it",
        memory_bytes=-(64 << 20),
        steady=a_ratio(1.4, "slower"),
        break_even_runs=12.0,
    ),
    Trial(
        remedy="tf.onednn", kind="avoid", title="", applies=False, why="the command does not import"
    ),
)
RECIPE = Recipe(
    version="1",
    created="2026-11-30",
    command=("python", "train.py"),
    goal="first-result",
    before_s=3.8,
    after_s=1.9,
    ratio=0.5,
    ratio_low=0.48,
    ratio_high=0.52,
    pairs=8,
    ingredients=(Ingredient(remedy="py.pyc", kind="cache", title="bytecode"),),
)


@pytest.fixture
def result():
    return Result(
        version="1",
        id="x",
        kind="fix",
        created="2026-11-30",
        command=("python", "train.py"),
        options=Options(launches=8),
        arms=(Arm(name="unchanged", argv=("python", "train.py")),),
        complete=True,
        comparisons={
            **{trial.arm: trial.ratio for trial in TRIALS if trial.arm},
            "placebo": a_ratio(1.003, "same"),
            "together": a_ratio(0.5, "faster"),
        },
        trials=TRIALS,
        recipe=RECIPE,
        notes=(Note(code="fix", text="There was no time to test something"),),
    )


def text(result, width=80, reading=None):
    stream = io.StringIO()
    render(result, Console(file=stream, width=width, highlight=False), reading)
    return stream.getvalue()


def test_the_first_sentence_says_what_was_gained(result):
    assert fix_headline(result) == (
        "py.pyc: the first result after 1.90 s instead of 3.80 s, "
        "2.00× faster (95 % 1.92 to 2.08×, 8 pairs)."
    )


@pytest.mark.parametrize(
    ("trials", "says"),
    [
        ((), "nothing was tried"),
        (TRIALS[:1], "The one remedy"),
        (TRIALS, "None of the 4 remedies"),
    ],
)
def test_without_a_recipe_it_says_that_nothing_is_proved(result, trials, says):
    assert says in fix_headline(replace(result, recipe=None, trials=trials))


def test_the_table_fits_eighty_columns_and_begins_with_the_recipe(result):
    lines = text(result).splitlines()
    assert max(map(len, lines)) <= 80
    order = [line.split()[0] for line in lines if line.startswith("  ") and line[2:3] != " "]
    remedies = [word for word in order if "." in word or word == "placebo"]
    assert remedies[:5] == [
        "py.pyc",
        "jax.autotune_level",
        "jax.cache_thresholds",
        "cuda.module_eager",
        "placebo",
    ]


def test_price_memory_and_numerics_stand_below_the_remedy(result):
    said = " ".join(text(result, 200).split())
    assert "results may change; --numerics allows it" in said
    assert "memory −64.0 MiB" in said
    assert "later runs 1.40× as long, eaten up after 12 runs" in said


def test_what_was_not_tested_and_a_placebo_that_moves_are_said(result):
    assert "There was no time to test something." in text(result)
    moved = {**result.comparisons, "placebo": a_ratio(0.8, "faster")}
    assert "The placebo came out faster" in text(replace(result, comparisons=moved))


def test_an_effect_that_may_be_small_is_marked_and_the_mark_explained(result):
    assert "<5 %?" not in text(result)
    small = replace(a_ratio(0.96, "faster"), clear=False)
    said = text(replace(result, comparisons={**result.comparisons, "placebo": small}))
    assert "faster, <5 %?" in said
    assert "<5 %?: there is an effect, but it may be smaller than 5 %." in said


@pytest.mark.parametrize(
    ("count", "says"),
    [(1, "1 launch was invalid and replaced."), (2, "2 launches were invalid and replaced.")],
)
def test_replaced_launches_are_counted(result, count, says):
    spoilt = Launch(
        index=0, round=1, arm="unchanged", kind="timed", wall_ns=1, invalid="the CPU was busy"
    )
    assert says in fix_notes(replace(result, launches=(spoilt,) * count))


def test_markdown_says_what_was_gained_and_warns_too(result):
    moved = {**result.comparisons, "placebo": a_ratio(0.8, "faster")}
    said = markdown(replace(result, comparisons=moved))
    assert said.startswith(f"**{fix_headline(result)}**")
    assert "Note: The placebo came out faster" in said


def test_remedies_that_were_not_tried_are_counted_and_listed_on_request(result):
    assert "1 other remedy was not tried; why: coldsoak report last --all\n" in text(result)
    everything = text(result, reading=Reading(everything=True))
    assert "--all" not in everything
    assert "  tf.onednn  the command does not import\n" in everything
    assert left_out_sheet(result).rows == (("tf.onednn", "the command does not import"),)
    assert left_out_sheet(replace(result, trials=TRIALS[:2])) is None
