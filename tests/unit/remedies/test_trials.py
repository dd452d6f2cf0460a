"""How the budget is planned, and which arms go on."""

import pytest
from msgspec.structs import replace

from coldsoak.launch.schedule import Costs, Extras
from coldsoak.model.result import Arm, Options
from coldsoak.remedies.goals import Goal
from coldsoak.remedies.trials import BASELINE, TOGETHER, Trials, carries_each

GOAL = Goal("first-result", "s")
NAMES = ["a", "b", "c"]


def trials(budget, launch_s=1.0, pairs=None, winners=()):
    return Trials(
        Options(budget_s=budget, launches=pairs, trace=True),
        GOAL,
        NAMES,
        launch_s=launch_s,
        choose=lambda result: list(winners),
        make=lambda name, ids: Arm(name=name, argv=("x", *ids)),
    )


def played(made, looks, seconds, rounds, elapsed=0.0):
    """Go through ``rounds`` rounds of arms that take ``seconds``; return the last answers."""
    names = [BASELINE, "placebo", *NAMES]
    arms = [Arm(name=name, argv=("x",)) for name in names]
    result = replace(made.diagnosis(), arms=tuple(arms), launches=(), options=Options())
    said = None
    for number in range(1, rounds + 1):
        new = [
            replace(made.launch(seconds.get(arm.name, 4.0)), arm=arm.name, round=number)
            for arm in arms
        ]
        result = replace(result, launches=(*result.launches, *new))
        said = looks.decide(result, arms, elapsed_s=elapsed * number, cost_s=0.0)
        arms = list(looks.arms(result, arms)) if said is None else arms
    return said, [arm.name for arm in arms]


@pytest.mark.parametrize(("budget", "pairs"), [(1e6, 12), (85, 8), (1, 8)])
def test_the_budget_carries_as_many_pairs_as_it_can_but_never_fewer_than_a_verdict_needs(
    budget, pairs
):
    looks = trials(budget)
    assert looks.forecast_pairs == pairs
    assert looks.needed == 8


def test_the_level_is_corrected_for_the_remedies_and_the_placebo():
    assert trials(1.0).level == pytest.approx(1 - 0.05 / 4)


def test_arms_whose_verdict_is_clear_are_launched_no_more(made):
    looks = trials(budget=1e6, winners=())
    said, names = played(made, looks, {"a": 2.0}, 11)
    assert said is None
    assert len(names) == 5
    looks = trials(budget=1e6, winners=())
    said, names = played(made, looks, {"a": 2.0}, 12)
    assert said == "target", "all are clear: one faster, two the same"


def test_a_fixed_number_of_pairs_is_kept_to(made):
    assert played(made, trials(1.0, pairs=8), {"a": 2.0}, 7)[0] is None
    assert played(made, trials(1.0, pairs=8), {"a": 2.0}, 8)[0] == "fixed"


def test_one_traced_round_shows_what_took_effect():
    assert trials(1e6).extras(synced=True) == ["traced"]


def test_the_forecast_ends_with_the_planned_pairs(made):
    looks = trials(1e6)
    expected, left = looks.forecast(made.diagnosis(), 5, Costs(), Extras((), 0.0), elapsed_s=100.0)
    assert expected == 1 + 5 * (12 + 1)
    assert left == pytest.approx(1e6 - 100)


@pytest.mark.parametrize(("budget", "carries"), [(79, False), (80, True)])
def test_a_budget_carries_each_remedy_when_its_share_has_the_pairs_of_a_verdict(budget, carries):
    """Three remedies, the baseline and the placebo of 1 s each: 8 pairs and 2.3 rounds besides."""
    assert carries_each(budget, 1.0, 3) is carries


def test_the_whole_is_planned_as_one_arm():
    looks = Trials(
        Options(budget_s=30, trace=True),
        GOAL,
        NAMES,
        launch_s=1.0,
        choose=lambda result: [],
        make=lambda name, ids: Arm(name=name, argv=("x", *ids)),
        whole=True,
    )
    assert looks.level == pytest.approx(1 - 0.05 / 2)
    assert looks.sides_of("a") == ("", TOGETHER), "nothing lacks it yet"
