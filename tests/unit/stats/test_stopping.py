"""When to stop, and the words for it."""

from __future__ import annotations

import math

import pytest

from coldsoak.stats import stopping

CALM = [1.0 + 0.001 * place for place in range(40)]
WILD = [1.0 + place % 7 for place in range(40)]


@pytest.mark.parametrize(
    ("values", "n", "by"),
    [
        (CALM, 9, None),
        (CALM, 10, "target"),
        (CALM, 11, None),
        (WILD, 10, None),
        (WILD, 39, None),
        (WILD, 40, "maximum"),
    ],
)
def test_looks_take_place_at_fixed_numbers_only(values, n, by):
    decision = stopping.decide(values[:n])
    assert decision.by == by
    assert decision.stop is (by is not None)
    assert (decision.width is not None) is (n in stopping.ARM_LOOKS)


def test_the_next_launch_must_fit_the_budget():
    assert not stopping.decide(WILD[:3], elapsed_s=50, cost_s=9, budget_s=60).stop
    assert stopping.decide(WILD[:3], elapsed_s=52, cost_s=9, budget_s=60).by == "budget"
    assert not stopping.decide([], elapsed_s=99, cost_s=9, budget_s=60).stop, "one is always made"


def test_pairs_have_looks_of_their_own():
    baseline = [2.0] * 12
    assert not stopping.decide(CALM[:10], baseline[:10]).stop
    decision = stopping.decide(CALM[:12], baseline)
    assert (decision.by, decision.next_look) == ("target", 20)


def test_the_target_met_at_the_last_look_is_the_target():
    assert stopping.decide(CALM[:40]).by == "target"


def test_quick_is_one_look():
    decision = stopping.decide(WILD[:8], looks=stopping.QUICK_LOOKS)
    assert (decision.by, decision.next_look) == ("maximum", None)


def test_before_the_first_look_no_rule_has_chosen():
    assert not stopping.chosen_by_rule(9)
    assert stopping.chosen_by_rule(10)
    assert not stopping.chosen_by_rule(11, stopping.PAIR_LOOKS)


@pytest.mark.parametrize(
    ("decision", "by", "next_look"),
    [
        (stopping.decide(CALM[:10]), "target", 15),
        (stopping.decide(WILD[:40]), "maximum", None),
        (stopping.decide(WILD[:3], elapsed_s=9, budget_s=5), "budget", 10),
        (stopping.decide(WILD[:3]), None, 10),
    ],
)
def test_a_decision_names_what_stopped(decision, by, next_look):
    assert (decision.by, decision.stop, decision.next_look) == (by, by is not None, next_look)


def test_an_estimate_of_zero_has_no_relative_width():
    assert stopping.relative_half_width([0.0] * 10) is None
    assert stopping.decide([0.0] * 10, budget_s=math.inf).by is None
