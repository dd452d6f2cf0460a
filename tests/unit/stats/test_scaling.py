"""A constant, a part per byte and a part per operation."""

from __future__ import annotations

import random

import pytest

from coldsoak.stats import scaling

SIZES = (100, 200, 500, 1000, 2000)


def rounds(constant, per_byte, per_flop, *, n=8, noise=0.0):
    source = random.Random(4)
    return [
        [
            (constant + per_byte * size**2 + per_flop * size**3) * (1 + source.gauss(0, noise))
            for size in SIZES
        ]
        for _ in range(n)
    ]


@pytest.mark.parametrize("truth", [(0.4, 2e-8, 3e-11), (0.4, 0.0, 0.0), (0.0, 0.0, 3e-11)])
def test_exact_times_give_their_terms_back(truth):
    found = scaling.fit(SIZES, rounds(*truth))
    for term, value in zip((found.constant, found.per_byte, found.per_flop), truth, strict=True):
        assert term.point == pytest.approx(value, abs=1e-15)
    assert found.error < 1e-9
    assert sum(found.parts(500)) == pytest.approx(truth[0] + truth[1] * 500**2 + truth[2] * 500**3)


def test_noise_gives_intervals_over_the_rounds():
    found = scaling.fit(SIZES, rounds(0.4, 2e-8, 3e-11, n=12, noise=0.02))
    assert found.constant.low < 0.4 < found.constant.high
    assert found.constant.n == 12
    assert found.per_byte.minimum >= 0
    assert 0 < found.error < 0.05


def test_one_round_has_no_interval():
    assert scaling.fit(SIZES, rounds(0.4, 2e-8, 3e-11, n=1)).constant.low is None


@pytest.mark.parametrize(
    ("sizes", "seconds", "words"),
    [
        ((1, 2), [[1.0, 1.0]], "three different"),
        ((1, 2, 2), [[1.0, 1.0, 1.0]], "three different"),
        ((0, 1, 2, 3), [[1.0] * 4], "three different"),
        ((1, 2, 3), [], "no rounds"),
        ((1, 2, 3), [[1.0]], "1 times for 3 sizes"),
        ((1, 2, 3), [[1.0, 0.0, 1.0]], "positive"),
        ((1, 2, 3), [[1.0, -1.0, 1.0]], "negative"),
    ],
)
def test_bad_input_is_refused(sizes, seconds, words):
    with pytest.raises(ValueError, match=words):
        scaling.fit(sizes, seconds)
