"""After how many runs the dearer first run is paid."""

from __future__ import annotations

import math
import random

import pytest

from coldsoak.stats import breakeven


def around(centre, n=8, noise=0.02, seed=1):
    source = random.Random(seed)
    return [centre * (1 + source.gauss(0, noise)) for _ in range(n)]


def test_dearer_at_first_and_quicker_later_pays_after_some_runs():
    found = breakeven.between(around(1.0), around(0.5), around(11.0), around(0.1))
    assert found.kind == "after"
    assert found.runs == pytest.approx(25, rel=0.1)
    assert found.low < found.runs < found.high
    assert found.n == 8


@pytest.mark.parametrize(
    ("cold_b", "steady_b", "kind"),
    [(0.5, 0.1, "always"), (2.0, 0.9, "never"), (0.5, 0.9, "before")],
)
def test_the_other_answers(cold_b, steady_b, kind):
    found = breakeven.between(around(1.0), around(0.5), around(cold_b), around(steady_b))
    assert found.kind == kind
    assert (found.runs is None) is (kind in {"always", "never"})


def test_equal_steady_times_leave_it_open():
    noisy = around(0.5, noise=0.2, seed=2)
    assert breakeven.between(around(1.0), around(0.5), around(9.0), noisy).kind == "undetermined"


def test_six_pairs_are_too_few():
    few = (around(centre, n=6) for centre in (1.0, 0.5, 11.0, 0.1))
    assert breakeven.between(*few).kind == "undetermined"


def test_an_overhead_that_may_be_nothing_starts_at_zero():
    extra = [-0.2, 0.3, 0.1, 0.2, -0.1, 0.4, 0.1, 0.2]
    found = breakeven.between([1.0] * 8, [0.5] * 8, [1 + value for value in extra], [0.1] * 8)
    assert (found.kind, found.low) == ("after", 0.0)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one value per pair"):
        breakeven.between([1.0], [1.0], [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        breakeven.between([math.nan], [1.0], [1.0], [1.0])
