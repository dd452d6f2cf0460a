"""Digits by the width of the interval, one unit per column."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.model.estimate import Estimate
from coldsoak.report.numbers import (
    DASH,
    SECONDS,
    TIME_UNITS,
    byte_size,
    decimals,
    duration,
    interval,
    percent,
    point,
    quantity,
    rate,
    show,
    sum_scale,
    time_unit,
)

MILLI = TIME_UNITS[1]


def estimate(value, low=None, high=None, **fields):
    fields = {"n": 10, "minimum": low or value, "maximum": high or value} | fields
    return Estimate(point=value, low=low, high=high, **fields)


@pytest.mark.parametrize(
    ("value", "uncertainty", "digits"),
    [
        (4.21, 0.075, 2),
        (1.83, 0.04, 2),
        (4440, 100, -1),
        (443.04, 6.0, 0),
        (443.04, 0.15, 1),
        (443.04, 0.0, 0),
        (0.999, 0.0, 3),
        (1.0000001, 1e-9, 3),
        (43.0, 100.0, 0),
        (0.0, 1.0, 0),
    ],
)
def test_digits_follow_the_uncertainty(value, uncertainty, digits):
    assert decimals(value, uncertainty) == digits


@given(st.floats(1e-9, 1e6), st.floats(1e-12, 1e6))
def test_two_to_four_significant_digits_whatever_comes(value, uncertainty):
    shown = decimals(value, uncertainty) + math.floor(math.log10(value)) + 1
    assert 2 <= shown <= 4


@given(st.lists(st.floats(1e-9, 1e5), min_size=1, max_size=9))
def test_a_column_is_neither_long_nor_all_zeros(values):
    unit = time_unit(values)
    assert max(values) < 1e4 * unit.scale or unit is SECONDS
    assert max(values) >= unit.scale or unit is TIME_UNITS[-1]


@pytest.mark.parametrize(
    ("values", "symbol"),
    [([0.443, 0.001], "ms"), ([93.7, 0.17], "s"), ([2.8, 5.0], "s"), ([], "ms"), ([2e-7], "ns")],
)
def test_units(values, symbol):
    assert time_unit(values).symbol == symbol


def test_point_and_interval_have_the_same_digits():
    e = estimate(0.44304, 0.4381, 0.4493)
    assert point(e, MILLI) == "443"
    assert interval(e, MILLI) == "438 … 449"


def test_no_interval_below_six_launches_but_a_range():
    e = estimate(0.443, minimum=0.431, maximum=0.449, n=3)
    assert interval(e, MILLI) == DASH
    assert interval(e, MILLI, whole_range=True) == "431 … 449"


def test_one_launch_has_no_range():
    assert interval(estimate(0.443, n=1), MILLI, whole_range=True) == DASH


def test_nothing_is_a_dash():
    assert point(None, MILLI) == interval(None, MILLI) == quantity(None) == DASH


def test_quantities_carry_their_unit():
    assert quantity(estimate(0.44304, 0.4381, 0.4493)) == "443 ms"
    assert quantity(estimate(443.2, 430.0, 450.0, unit="ratio")) == "443×"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (duration(1.8432), "1.84 s"),
        (duration(0.0), "0 ms"),
        (byte_size(48 << 20), "48.0 MiB"),
        (byte_size(12), "12 B"),
        (rate(1.2345e12), "1.23 TFLOP/s"),
        (percent(0.004), "<1 %"),
        (percent(0.481), "48 %"),
        (percent(0.0), "0 %"),
        (show(12345.6, 0), "12,346"),
        (show(-0.5, 1), "−0.5"),
    ],
)
def test_single_figures(text, expected):
    assert text == expected


@pytest.mark.parametrize(
    ("total", "symbol", "digits"),
    [(0.443, "ms", 1), (2.94, "ms", 0), (149.5, "s", 1), (0, "µs", 1)],
)
def test_sums_keep_four_digits(total, symbol, digits):
    unit, places = sum_scale(total)
    assert (unit.symbol, places) == (symbol, digits)
