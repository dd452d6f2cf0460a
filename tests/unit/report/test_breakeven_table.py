"""From which run on a card pays, in words."""

import pytest

from coldsoak.report.breakeven_table import break_even_sheet, pairs_of_devices, verdict
from coldsoak.stats.breakeven import BreakEven


def test_arms_that_differ_in_the_device_alone_are_compared(bench_card):
    pairs = [(a.name, b.name) for a, b in pairs_of_devices(bench_card)]
    assert pairs == [
        ("torch eager cpu n=1000", "torch eager gpu:0 n=1000"),
        ("torch compile cpu n=1000", "torch compile gpu:0 n=1000"),
    ]


def test_the_run_from_which_the_card_pays(bench_card):
    # Overheads 4 and 442 ms, runs 96 and 1 ms: (442 - 4) / (96 - 1) = 4.6.
    rows = break_even_sheet(bench_card).rows
    assert rows[0][-1].startswith("from run 5 on (")
    assert rows[1][-1].startswith("from run 4")


def test_on_one_device_there_is_no_such_table(bench, two_devices):
    assert break_even_sheet(bench) is None
    assert break_even_sheet(two_devices) is None


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (BreakEven(kind="always"), "always"),
        (BreakEven(kind="never"), "never"),
        (BreakEven(kind="undetermined", n=3), "undetermined from 3 pairs"),
        (BreakEven(kind="before", runs=12.2, low=10.0, high=15.0), "up to run 12 (10 … 15)"),
    ],
)
def test_verdicts(found, text):
    assert verdict(found) == text
