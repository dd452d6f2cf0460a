"""The median, its interval and its warnings."""

from __future__ import annotations

import math

import pytest

from coldsoak.stats import estimate


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1.357143, 5.642857), (12, 3.263118, 9.736882)])
def test_golden_intervals(n, low, high):
    found = estimate.median(range(1, n + 1))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)
    assert found.point == (n + 1) / 2
    assert (found.n, found.minimum, found.maximum, found.level) == (n, 1, n, 0.95)


@pytest.mark.parametrize(("level", "fewest"), [(0.9, 5), (0.95, 6), (0.97, 7), (0.99, 8)])
def test_below_the_fewest_values_there_is_no_interval(level, fewest):
    assert estimate.minimum_n(level) == fewest
    few = estimate.median(range(1, fewest), level=level)
    assert (few.low, few.high) == (None, None)
    assert few.point == fewest / 2
    enough = estimate.median(range(1, fewest + 1), level=level)
    assert enough.low is not None
    assert enough.high is not None


def test_after_stopping_the_interval_is_the_97_per_cent_one_and_says_so():
    values = [float(value) for value in range(1, 13)]
    stopped = estimate.median(values, after_stopping=True)
    assert (stopped.low, stopped.high) == estimate.interval(values, 0.97)
    assert (stopped.level, stopped.after_stopping) == (0.95, True)
    assert estimate.median(values[:6], after_stopping=True).low is None


@pytest.mark.parametrize("value", [0.0, 1e-9, 3.5])
def test_constant_values_are_certain_and_say_that_the_clock_is_coarse(value):
    found = estimate.median([value] * 10)
    assert (found.low, found.point, found.high) == (value, value, value)
    assert "clock grain reached" in found.method
    assert not found.two_groups
    assert found.outliers == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "no values"),
        ([1.0, math.nan], "value 1 .nan. is not finite"),
        ([math.inf, 1.0], "value 0 .inf. is not finite"),
        ([1.0, 2.0, -0.5], "value 2 .-0.5. is negative"),
    ],
)
def test_what_cannot_be_a_duration_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        estimate.median(values)


def test_differences_may_be_negative():
    found = estimate.median([-3.0, -1.0, 0.0, 1.0, 2.0, 9.0], signed=True)
    assert found.point == 0.5
    assert found.low < 0 < found.high


@pytest.mark.parametrize("level", [1.0, 0.2, -1])
def test_levels_that_make_no_sense_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        estimate.median([1.0] * 10, level=level)


def test_a_straggler_is_labelled_and_kept():
    values = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.6]
    found = estimate.median(values)
    assert found.outliers == 1
    assert found.maximum == 1.6
    assert found.n == 9


def test_a_straggler_beside_tied_values_is_labelled():
    assert estimate.count_outliers([1.0] * 9 + [100.0]) == 1


def test_two_groups_are_told_from_one():
    assert estimate.two_groups([1.0, 1.01, 1.02, 1.03, 2.0, 2.01, 2.02, 2.03])
    assert not estimate.two_groups([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7])
    assert not estimate.two_groups([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 9.0])
    assert not estimate.two_groups([1.0, 2.0])
    assert not estimate.two_groups([1.0] * 5 + [1.001] * 5), "a clock's grain is no group"


class TestPercentile:
    def test_below_twenty_values_nothing_is_said(self):
        assert estimate.percentile_bound(range(1, 20)) is None

    def test_twenty_values_have_no_upper_bound(self):
        found = estimate.percentile_bound(range(1, 21))
        assert found.point == pytest.approx(18.1)
        assert found.low == 16
        assert found.high is None

    def test_29_values_are_the_first_with_one(self):
        assert estimate.percentile_bound(range(1, 29)).high is None
        assert estimate.percentile_bound(range(1, 30)).high == 29

    @pytest.mark.parametrize("n", [20, 29, 40, 100])
    def test_the_bounds_cover_as_promised_and_no_tighter_ones_do(self, n):
        from scipy.stats import binom

        found = estimate.percentile_bound(range(1, n + 1))
        low = int(found.low)
        assert 1 - binom.cdf(low - 1, n, 0.9) >= 0.95 > 1 - binom.cdf(low, n, 0.9)
        if found.high is not None:
            high = int(found.high)
            assert binom.cdf(high - 1, n, 0.9) >= 0.95 > binom.cdf(high - 2, n, 0.9)


def test_half_width_needs_an_interval_and_a_point():
    assert estimate.half_width(estimate.median([1.0, 2.0])) is None
    assert estimate.half_width(estimate.median([0.0] * 8)) is None
    found = estimate.median([float(value) for value in range(1, 7)])
    assert estimate.half_width(found) == pytest.approx((5.642857 - 1.357143) / 2 / 3.5, abs=1e-6)
