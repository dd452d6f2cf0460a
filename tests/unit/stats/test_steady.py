"""Classes of series with a known shape, and awkward ones."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest

from coldsoak.model.estimate import SteadyState
from coldsoak.stats import steady

RUNS = 60


def series(shape, *, seed=1, noise=0.01, runs=RUNS, spikes=0.02, autocorrelation=0.0):
    """Run 0 ten times as slow, then ``shape(run)``, with lognormal noise and spikes."""
    source, error, values = random.Random(seed), 0.0, [0.01]
    for run in range(1, runs + 1):
        step = source.gauss(0, noise * math.sqrt(1 - autocorrelation**2))
        error = autocorrelation * error + step
        spike = 1 + (source.uniform(0.3, 1.5) if source.random() < spikes else 0)
        values.append(1e-3 * shape(run) * math.exp(error) * spike)
    return values


SHAPES = {
    "flat": (lambda run: 1.0, "flat", 1),
    "five slow runs": (lambda run: 1.5 if run <= 5 else 1.0, "warming", 6),
    "step at 15": (lambda run: 1.25 if run <= 15 else 1.0, "warming", 16),
    "slows down": (lambda run: 1.0 if run <= RUNS / 3 else 1.15, "slowing", 21),
    "both ways": (lambda run: {0: 1.5, 1: 0.7}.get((run - 1) // 8, 1.0), "mixed", 17),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_told_apart(name):
    shape, kind, start = SHAPES[name]
    states = [steady.detect(series(shape, seed=seed)) for seed in range(40)]
    right = [state for state in states if state.kind == kind]
    assert len(right) >= 38
    starts = sorted(state.start for state in right)
    assert abs(starts[len(starts) // 2] - start) <= 1
    for state in right:
        assert state.seconds == pytest.approx(1e-3 * shape(RUNS), rel=0.02)
        assert state.n == RUNS


def test_a_drift_has_no_steady_state():
    states = [steady.detect(series(lambda run: 1 + run / 300, seed=seed)) for seed in range(40)]
    assert Counter(state.kind for state in states)["no steady state"] >= 38
    assert all(state.start is state.seconds is None for state in states if "no" in state.kind)


def test_correlated_noise_is_mostly_seen_through():
    """Section 5.3: flat 91 % at 3 % noise with autocorrelation 0.4 and 3 % spikes."""
    states = [
        steady.detect(
            series(lambda run: 1.0, seed=seed, noise=0.03, spikes=0.03, autocorrelation=0.4)
        )
        for seed in range(100)
    ]
    assert sum(state.kind == "flat" for state in states) >= 84


@pytest.mark.parametrize("later", [0, 1, 8, 19])
def test_fewer_than_twenty_later_runs_are_not_assessed(later):
    state = steady.detect([1.0, *([0.1] * later)])
    assert state == SteadyState(kind="not assessed", n=later)


def test_twenty_later_runs_are_enough():
    assert steady.detect([1.0, *([0.1] * 20)]) == SteadyState(
        kind="flat", start=1, seconds=0.1, n=20
    )


def test_run_0_never_counts():
    values = series(lambda run: 1.0)
    assert steady.detect([1e6, *values[1:]]) == steady.detect([1e-9, *values[1:]])


def test_spikes_are_counted_and_only_hidden_from_the_segmentation():
    values = [1.0, *([0.1, 0.1001, 0.0999] * 10)]
    values[10] = values[20] = 5.0
    state = steady.detect(values)
    assert (state.kind, state.spikes) == ("flat", 2)
    assert state.seconds == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0] * 30, "flat"),
        ([0.5, *([0.0, 1e-6] * 15)], "flat"),
        ([1.0] + [1e-9] * 25, "flat"),
        ([1.0] + [2.0**run for run in range(30)], "no steady state"),
    ],
)
def test_awkward_values(values, kind):
    assert steady.detect(values).kind == kind


def test_runs_that_alternate_between_two_times_are_flat():
    state = steady.detect([1.0, *([0.1, 0.12] * 20)])
    assert (state.kind, state.spikes) == ("flat", 0)
    assert state.seconds == pytest.approx(0.11)


def test_long_series_are_cut_by_pelt_at_the_same_place():
    values = series(lambda run: 1.5 if run <= 100 else 1.0, runs=800, noise=0.02)
    state = steady.detect(values)
    assert (state.kind, state.start) == ("warming", 101)


def test_times_must_be_times():
    with pytest.raises(ValueError, match="negative"):
        steady.detect([1.0, -1.0])


def test_the_partition_is_the_best_of_all():
    """Against every partition of a short series with segments of three or more."""
    source = random.Random(3)

    def partitions(start, end):
        if end - start >= steady.MINIMUM_SEGMENT:
            yield [end]
        for cut in range(start + steady.MINIMUM_SEGMENT, end - steady.MINIMUM_SEGMENT + 1):
            for rest in partitions(cut, end):
                yield [cut, *rest]

    def price(values, ends):
        total, start = 0.0, 0
        for end in ends:
            mean = sum(values[start:end]) / (end - start)
            total += sum((value - mean) ** 2 for value in values[start:end])
            total += steady.PENALTY * math.log(len(values))
            start = end
        return total

    for _ in range(10):
        values = [source.gauss(0, 1) + source.choice((0, 8)) * (place > 6) for place in range(15)]
        best = min(price(values, ends) for ends in partitions(0, 15))
        assert price(values, steady._segments(values)) == pytest.approx(best)


class TestCommon:
    def test_four_of_five_agree(self):
        states = [SteadyState(kind="flat")] * 4 + [SteadyState(kind="warming")]
        assert steady.common(states) == ("flat", {"flat": 4, "warming": 1})

    def test_three_of_five_are_inconsistent(self):
        states = [SteadyState(kind="flat")] * 3 + [SteadyState(kind="warming")] * 2
        assert steady.common(states)[0] == "inconsistent"

    def test_nothing_is_not_assessed(self):
        assert steady.common([]) == ("not assessed", {})


RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_series(name):
    """Real runs of a 512 x 512 product on a busy two-core machine; the shape was read by eye."""
    case = RECORDED[name]
    state = steady.detect(case["seconds"])
    assert state.kind in case["kinds"]
    if state.seconds is not None:
        assert min(case["seconds"]) <= state.seconds <= max(case["seconds"][1:])
