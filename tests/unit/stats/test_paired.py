"""Two arms through pairs of launches."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from coldsoak.model.result import Launch
from coldsoak.stats import estimate, paired


def arm(seed, n, *, level=1.0, noise=0.03):
    source = random.Random(seed)
    return [level * math.exp(source.gauss(0, noise)) for _ in range(n)]


def test_pairs_are_the_rounds_that_both_arms_completed():
    def launches(name, *rounds):
        return [
            Launch(index=0, round=place, arm=name, kind="timed", wall_ns=place) for place in rounds
        ]

    def observe(launch):
        return None if (launch.arm, launch.round) == ("b", 4) else float(launch.wall_ns)

    a, b = paired.match(launches("a", 3, 1, 2, 4), launches("b", 1, 3, 4, 5), observe)
    assert a == b == [1.0, 3.0]


def test_k_of_the_signed_rank_interval_agrees_with_the_published_table():
    table = {6: 1, 7: 3, 8: 4, 9: 6, 10: 9, 12: 14, 15: 26, 20: 53, 30: 138}
    assert {n: paired.signed_rank_index(n) for n in table} == table
    assert paired.signed_rank_index(5) == 0


def test_half_the_time_is_clearly_faster():
    found = paired.compare(arm(1, 12), arm(2, 12, level=0.5))
    assert (found.verdict, found.clear) == ("faster", True)
    assert found.estimate.low < 0.5 < found.estimate.high
    assert found.estimate.unit == "ratio"
    assert found.hodges_lehmann == pytest.approx(found.estimate.point, rel=0.05)
    low, high = found.hodges_lehmann_interval
    assert low < found.hodges_lehmann < high


def test_an_effect_under_the_threshold_that_reaches_beyond_it_is_not_clear():
    ratios = [1.02, 1.03, 1.04, 1.045, 1.05, 1.06, 1.065, 1.07, 1.08, 1.09, 1.1, 1.11]
    found = paired.compare([1.0] * 12, ratios)
    assert (found.verdict, found.clear) == ("slower", False)


def test_real_but_below_the_threshold_is_the_same():
    found = paired.compare([1.0] * 12, [1.02 + index / 1e4 for index in range(12)])
    assert found.estimate.low > 1
    assert found.verdict == "same"


def test_noise_is_inconclusive_and_says_what_it_could_have_found():
    found = paired.compare(arm(3, 12, noise=0.2), arm(4, 12, noise=0.2))
    assert found.verdict == "inconclusive"
    assert found.detectable > 0.1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_pairs_are_never_conclusive(n):
    found = paired.compare([1.0] * n, [0.1] * n)
    assert found.verdict == "inconclusive"
    assert found.estimate.low is None
    assert found.detectable is None
    assert found.hodges_lehmann == pytest.approx(0.1)


def test_after_stopping_six_pairs_are_too_few():
    assert paired.compare([1.0] * 6, [0.1] * 6).verdict == "faster"
    stopped = paired.compare([1.0] * 6, [0.1] * 6, after_stopping=True)
    assert (stopped.verdict, stopped.estimate.low) == ("inconclusive", None)


def test_median_and_cross_check_in_opposite_directions_are_inconclusive():
    """Most pairs are a little slower, the rest very much faster."""
    logs = [0.001 * rank for rank in range(51, 72)] + [-2.0 - 0.01 * rank for rank in range(9)]
    found = paired.compare([1.0] * 30, [math.exp(value) for value in logs])
    assert found.estimate.low > 1
    assert found.hodges_lehmann < 1
    assert found.verdict == "inconclusive"


def test_several_arms_need_a_higher_level_for_the_words_only():
    assert paired.corrected_level(1) == 0.95
    assert paired.corrected_level(5) == pytest.approx(0.99)
    a, b = [1.0] * 7, [0.8, 0.81, 0.82, 0.8, 0.79, 0.78, 0.8]
    plain = paired.compare(a, b)
    corrected = paired.compare(a, b, level=paired.corrected_level(5))
    assert (plain.verdict, corrected.verdict) == ("faster", "inconclusive")
    assert plain.estimate == corrected.estimate


@pytest.mark.parametrize("n", [10, 12, 16, 20, 30])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
def test_the_detectable_effect_agrees_with_the_simulated_table(n, noise):
    """Section 5.5: minimum detectable effect by process noise and pairs."""
    table = {
        0.01: {10: 1.6, 12: 1.5, 16: 1.3, 20: 1.1, 30: 0.9},
        0.03: {10: 4.9, 12: 4.5, 16: 3.8, 20: 3.4, 30: 2.8},
        0.1: {10: 17, 12: 16, 16: 13, 20: 12, 30: 10},
    }
    found = math.expm1(paired.POWER_FACTOR * noise * math.sqrt(2) / math.sqrt(n))
    assert found * 100 == pytest.approx(table[noise][n], rel=0.09)


def test_the_robust_spread_estimates_sigma():
    logs = [math.log(value) for value in arm(9, 4000, noise=0.05)]
    assert estimate.robust_spread(logs) == pytest.approx(0.05, rel=0.05)


def test_identical_arms_are_the_same():
    found = paired.compare([1.0] * 8, [1.0] * 8)
    assert (found.verdict, found.estimate.point, found.detectable) == ("same", 1.0, 0.0)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([1.0], [1.0, 2.0], "1 and 2 values"),
        ([], [], "no values"),
        ([0.0], [1.0], "positive"),
        ([1.0], [math.nan], "finite"),
    ],
)
def test_bad_pairs_are_refused(a, b, words):
    with pytest.raises(ValueError, match=words):
        paired.compare(a, b)


@pytest.mark.parametrize("threshold", [0, -0.1, math.nan])
def test_a_threshold_must_be_positive(threshold):
    with pytest.raises(ValueError, match="threshold"):
        paired.compare([1.0], [1.0], threshold=threshold)


@pytest.mark.parametrize(
    ("effect", "noise", "verdict", "low", "high"),
    [
        (1.0, 0.03, "same", 0.80, 0.92),
        (1.0, 0.08, "inconclusive", 0.85, 0.95),
        (1.03, 0.03, "same", 0.28, 0.44),
        (1.3, 0.08, "slower", 0.98, 1.0),
    ],
)
def test_the_chances_of_each_verdict_are_those_of_the_page(effect, noise, verdict, low, high):
    source = random.Random(7)
    counts = Counter(
        paired.compare(
            [math.exp(source.gauss(0, noise)) for _ in range(12)],
            [effect * math.exp(source.gauss(0, noise)) for _ in range(12)],
        ).verdict
        for _ in range(250)
    )
    assert low <= counts[verdict] / 250 <= high


def test_random_pairs_hold_their_error_rate_under_drift_where_blocks_do_not():
    """Section 4.3: 10 launches an arm, 3 % noise, the machine slows by 6 %, no true difference."""
    source = random.Random(11)
    wrong = {"pairs": 0, "blocks": 0}
    for _ in range(300):
        pace = [math.exp(0.06 * place / 19 + source.gauss(0, 0.03)) for place in range(20)]
        pairs = [source.sample(pace[place : place + 2], 2) for place in range(0, 20, 2)]
        for layout, (a, b) in {
            "pairs": zip(*pairs, strict=True),
            "blocks": (pace[:10], pace[10:]),
        }.items():
            found = paired.compare(a, b).estimate
            wrong[layout] += not found.low <= 1 <= found.high
    assert wrong["pairs"] / 300 < 0.09
    assert wrong["blocks"] / 300 > 0.25
