"""Typing what the last line says must make sense at that point."""

import pytest
from msgspec.structs import replace

from coldsoak.model.causes import Cause
from coldsoak.model.estimate import Estimate, Ratio
from coldsoak.model.recipe import Recipe, Trial
from coldsoak.model.result import Arm, Note, Options, Result
from coldsoak.report.next_step import Reading, next_step


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("two_devices", "coldsoak fix -- python demo.py"),
        ("sweep", "coldsoak run --rerun 5 -- python demo.py"),
        ("no_region", "coldsoak report last --markdown"),
        ("failing", "coldsoak run --echo -- python demo.py"),
        ("bench", "coldsoak report last --markdown"),
    ],
)
def test_the_next_step_fits_the_answer(name, step, request):
    assert next_step(request.getfixturevalue(name)) == step


def test_the_next_step_keeps_the_options_that_matter(sweep):
    options = Options(rerun=2, tf1=True, cold=("cache",), until="log:ready to serve")
    asked = replace(sweep, options=options)
    assert next_step(asked) == (
        "coldsoak run --launches 10 --until 'log:ready to serve' --cold cache --tf1 "
        "-- python demo.py"
    )


def test_a_stored_result_is_named_as_it_was_asked_for(no_region):
    step = next_step(no_region, Reading(reference="20261130T1"))
    assert step == "coldsoak report 20261130T1 --markdown"


def test_without_traces_the_causes_come_next(two_devices):
    untraced = replace(two_devices, options=Options(trace=False, cold=("cache",)), ledgers=())
    assert next_step(untraced) == "coldsoak run --cold cache -- python demo.py"


@pytest.mark.parametrize(
    "command",
    [
        ("coldsoak", "exec", "--", "python", "demo.py"),
        ("/venv/bin/python", "-m", "coldsoak", "exec"),
    ],
)
def test_what_has_a_recipe_is_not_fixed_again(two_devices, command):
    assert next_step(replace(two_devices, command=command)) == "coldsoak explain lazy_kernel_load"


def test_what_no_remedy_is_for_is_explained(two_devices):
    def without_stakes(ledger):
        lines = (replace(ledger.lines[0], cause=Cause.IMPORT_PYTHON), *ledger.lines[5:])
        return replace(ledger, lines=lines)

    plain = replace(two_devices, ledgers=tuple(map(without_stakes, two_devices.ledgers)))
    assert next_step(plain) == "coldsoak explain import_python"
    tf1 = replace(two_devices, options=Options(tf1=True))
    assert next_step(tf1) == "coldsoak explain lazy_kernel_load"


def test_an_interrupted_session_is_begun_again(two_devices):
    assert next_step(replace(two_devices, complete=False)) == "coldsoak run -- python demo.py"
    nothing = replace(two_devices, complete=False, launches=(), summaries=(), ledgers=())
    assert next_step(nothing) == "coldsoak run -- python demo.py"


def failed_with(result, **fields):
    launches = tuple(replace(one, **fields) for one in result.launches[-1:])
    summaries = tuple(replace(one, stopped_by="failure") for one in result.summaries)
    return replace(result, launches=(*result.launches[:-1], *launches), summaries=summaries)


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        ({"status": "failed", "exit_code": 3}, "coldsoak run --ignore-failure -- python demo.py"),
        ({"status": "killed", "signal": 11}, "coldsoak run --echo -- python demo.py"),
        ({"status": "timeout", "signal": 15}, "coldsoak run --timeout 1200 -- python demo.py"),
        # as salvaging leaves it: shown as if it counted
        ({"status": "ok", "ended_by": "timeout"}, "coldsoak run --timeout 1200 -- python demo.py"),
        ({"status": "ok"}, "coldsoak run --echo -- python demo.py"),
    ],
)
def test_after_a_failure_the_way_it_failed_decides(two_devices, fields, step):
    assert next_step(failed_with(two_devices, **fields)) == step


def test_a_machine_that_spoils_every_launch_is_looked_at(two_devices):
    spoilt = failed_with(two_devices, invalid="other programs used 90 % of the CPU")
    note = Note(code="too_many_invalid", text="3 launches were invalid")
    assert next_step(replace(spoilt, notes=(note,))) == "coldsoak doctor"


def ratio(verdict):
    estimate = Estimate(point=0.5, low=0.4, high=0.6, n=8, minimum=0.4, maximum=0.6)
    return Ratio(
        estimate=estimate, verdict=verdict, clear=False, threshold=0.05, hodges_lehmann=0.5
    )


def trial(verdict):
    return Trial(remedy="py.pyc", kind="cache", title="", arm="py.pyc", ratio=ratio(verdict))


LEFT_OUT = Trial(remedy="tf.onednn", kind="avoid", title="", why="no TensorFlow")


@pytest.fixture
def fixed():
    recipe = Recipe(
        version="1",
        created="",
        command=("python", "a b.py"),
        goal="exit",
        before_s=2.0,
        after_s=1.0,
        ratio=0.5,
        pairs=8,
    )
    return Result(
        version="1",
        id="x",
        kind="fix",
        created="2026-11-30",
        command=("python", "a b.py"),
        options=Options(budget_s=571.3),
        arms=(Arm(name="unchanged", argv=("python", "a b.py")),),
        complete=True,
        trials=(trial("faster"), LEFT_OUT),
        recipe=recipe,
    )


def test_a_recipe_is_used_from_where_it_was_written(fixed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for written, option in (
        (tmp_path / "coldsoak.recipe.toml", ""),
        (tmp_path / "sub" / "x.toml", "--recipe sub/x.toml "),
        (tmp_path.parent / "my own.toml", f"--recipe '{tmp_path.parent}/my own.toml' "),
    ):
        step = next_step(replace(fixed, recipe_file=str(written)))
        assert step == f"coldsoak exec {option}-- python 'a b.py'"


def test_unclear_trials_get_twice_as_much_of_what_ended_them(fixed):
    unclear = replace(fixed, recipe=None, trials=(trial("inconclusive"), LEFT_OUT))
    assert next_step(unclear) == "coldsoak fix --budget 1150 -- python 'a b.py'"
    together = replace(fixed, recipe=None, trials=(replace(trial("same"), ratio=None),))
    short = replace(together, options=Options(budget_s=31.0))
    assert next_step(short) == "coldsoak fix -- python 'a b.py'"
    options = Options(launches=8, until="port:80", cold=("cache",))
    assert next_step(replace(unclear, options=options)) == (
        "coldsoak fix --pairs 16 --until port:80 --cold cache -- python 'a b.py'"
    )


def test_where_nothing_helped_it_is_said_why_and_not_measured_again(fixed):
    nothing = replace(fixed, recipe=None, trials=(trial("same"), LEFT_OUT))
    assert next_step(nothing) == "coldsoak report last --all"
    assert next_step(nothing, Reading(everything=True)) == "coldsoak doctor -- python 'a b.py'"


def test_an_interrupted_fix_is_begun_again(fixed):
    assert next_step(replace(fixed, complete=False)) == "coldsoak fix -- python 'a b.py'"
