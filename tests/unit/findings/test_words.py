"""Figures in sentences: three significant digits, and the unit in which they are short."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.findings.words import bytes_text, plural, rate_text, seconds_text, share_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.844, "1.84 s"),
        (93.71, "93.7 s"),
        (1234.4, "1,234 s"),
        (0.5434, "543 ms"),
        (0.9996, "1.00 s"),
        (0.09996, "100 ms"),
        (999.6e-6, "1.00 ms"),
        (1e-3, "1.00 ms"),
        (543e-6, "543 µs"),
        (4.2e-9, "4.20 ns"),
        (-0.0123, "-12.3 ms"),
        (0.0, "0 ns"),
    ],
)
def test_times(seconds, text):
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (143e12, "143 TFLOP/s"),
        (999.6e9, "1.00 TFLOP/s"),
        (999.4e9, "999 GFLOP/s"),
        (7, "7.00 FLOP/s"),
    ],
)
def test_rates(rate, text):
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (5, "5 B"),
        (1023, "1,023 B"),
        (1024, "1.00 KiB"),
        (32 << 20, "32.0 MiB"),
        ((1 << 30) - 1, "1.00 GiB"),
        (3 << 50, "3,072 TiB"),
    ],
)
def test_sizes(size, text):
    assert bytes_text(size) == text


@given(st.floats(1e-9, 1e5))
def test_a_time_is_shown_within_half_a_per_cent_and_in_the_unit_that_keeps_it_short(seconds):
    figure, unit = seconds_text(seconds).split()
    scale = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    value = float(figure.replace(",", ""))
    assert math.isclose(value * scale, seconds, rel_tol=5.1e-3)
    assert unit == "s" or value < 1000


def test_shares_and_counts():
    assert (share_text(0.0), share_text(0.004), share_text(0.395)) == ("0 %", "<1 %", "40 %")
    assert plural(1, "launch", "launches") == "1 launch"
    assert plural(1200, "run") == "1,200 runs"
