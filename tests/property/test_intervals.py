"""Arithmetic of intervals against the same done instant by instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.ledger.arrays import Rows, clip, covered, flatten, merge, over
from coldsoak.ledger.rules.base import Kind
from coldsoak.model.causes import Cause

END = 30
pairs = st.lists(st.tuples(st.integers(-5, END), st.integers(-3, 12)), max_size=12)
INSTANTS = np.arange(-10, END + 20)


def intervals(found):
    start = np.array([begin for begin, _ in found], dtype=np.int64)
    return start, start + np.array([length for _, length in found], dtype=np.int64)


def rows(found):
    start, end = intervals(found)
    records = list(zip(start.tolist(), end.tolist(), range(len(found)), strict=True))
    return Rows.of(records, Cause.COMPILE, Kind.FIXED, 0, 0)


def inside(start, end):
    """Return for each instant whether any interval covers it."""
    return [any(s <= t < e for s, e in zip(start, end, strict=True)) for t in INSTANTS]


def told(some):
    """Return for each instant the record that covers it, None for none."""
    index = some.at(INSTANTS)
    return [int(some.row[i]) if i >= 0 else None for i in index]


def tidy(some):
    """Whether rows are sorted, disjoint and none is empty."""
    whole = bool((some.end > some.start).all())
    return whole and bool((some.start[1:] >= some.end[:-1]).all())


@given(pairs)
def test_at_each_instant_the_row_that_started_last_speaks(found):
    flat = flatten(rows(found))
    assert tidy(flat)
    for time, row in zip(INSTANTS, told(flat), strict=True):
        around = [(s, -n, i) for i, (s, n) in enumerate(found) if s <= time < s + n]
        assert row == (max(around)[2] if around else None)


@given(pairs, st.integers(0, 4))
def test_a_union_covers_what_its_intervals_cover(found, gap):
    start, end = intervals([(s, max(n, 0)) for s, n in found])
    begins, ends = merge(start, end, gap)
    assert all(later > before + gap for later, before in zip(begins[1:], ends[:-1], strict=True))
    if not gap:
        assert inside(begins, ends) == inside(start, end)
    assert covered(INSTANTS, begins, ends).tolist() == inside(begins, ends)


@given(pairs, pairs)
def test_clipping_leaves_the_same_rows_inside_the_intervals_alone(found, window):
    base = flatten(rows(found))
    bounds = merge(*intervals([(s, max(n, 0)) for s, n in window]))
    cut = clip(base, *bounds)
    assert tidy(cut)
    wanted = inside(*bounds)
    assert told(cut) == [row if w else None for row, w in zip(told(base), wanted, strict=True)]


@given(pairs, pairs)
def test_what_lies_on_top_hides_what_is_below(upper, lower):
    top, base = flatten(rows(upper)), flatten(rows(lower))
    both = over(top, base)
    assert tidy(both)
    for above, below, seen in zip(told(top), told(base), told(both), strict=True):
        assert seen == (above if above is not None else below)
