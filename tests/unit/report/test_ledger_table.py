"""Ledgers of several launches become one table that adds up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.model.causes import Cause
from coldsoak.model.ledger import Evidence, Item, Ledger, Line
from coldsoak.report.ledger_table import (
    MOST_ROWS,
    STEADY,
    breakdown,
    breakdowns,
    evidence_line,
    ledger_sheet,
)

MS = 1_000_000
CAUSES = [cause for cause in Cause if cause not in {Cause.MEASUREMENT, Cause.UNATTRIBUTED}]


def ledger(parts, *, measurement=0, steady=None, steady_runs=0):
    """Return a ledger with ``parts`` (cause -> ms) and as much unattributed as 1 ms."""
    steady = steady or {}
    lines = [
        Line(cause=cause, ns=round(ms * MS), steady_ns=steady.get(cause, 0) * MS)
        for cause, ms in {**parts, Cause.UNATTRIBUTED: 1.0}.items()
    ]
    total = sum(line.ns for line in lines) + measurement * MS
    return Ledger(
        scope="region",
        arm="command",
        launch=1,
        series="s",
        start_ns=0,
        end_ns=total,
        total_ns=total,
        measurement_ns=measurement * MS,
        steady_runs=steady_runs,
        lines=tuple(lines),
    )


ledgers = st.lists(
    st.dictionaries(st.sampled_from(CAUSES), st.floats(0.001, 1e4), min_size=1).map(ledger),
    min_size=1,
    max_size=5,
)


@given(ledgers, st.none() | st.floats(1e-4, 100.0))
def test_parts_add_up_to_the_whole(made, timed):
    table = breakdown(made, timed)
    assert sum(part.seconds for part in table.parts) == pytest.approx(table.seconds)
    assert sum(part.share for part in table.parts) == pytest.approx(1.0)


@given(ledgers)
def test_unattributed_is_always_there_and_last(made):
    assert breakdown(made, None).parts[-1].name == Cause.UNATTRIBUTED


def test_one_launch_is_shown_as_it_was():
    table = breakdown([ledger({Cause.COMPILE: 30, Cause.TRACE: 9})], None)
    assert {p.name: round(1000 * p.seconds, 6) for p in table.parts} == {
        "compile": 30.0,
        "trace": 9.0,
        "unattributed": 1.0,
    }
    assert table.looking is None


def test_what_later_runs_pay_too_is_one_part_of_its_own():
    made = ledger(
        {Cause.COMPILE: 30, Cause.DEVICE_COMPUTE: 9},
        steady={Cause.DEVICE_COMPUTE: 8},
        steady_runs=4,
    )
    parts = {p.name: 1000 * p.seconds for p in breakdown([made], None).parts}
    assert parts[STEADY] == pytest.approx(8)
    assert parts["device_compute"] == pytest.approx(1)


def test_shares_are_applied_to_the_timed_median_when_looking_was_cheap():
    table = breakdown([ledger({Cause.COMPILE: 39}, measurement=4)], 0.040)
    assert table.scaled
    assert table.looking == pytest.approx(1.1)
    assert table.seconds == 0.040
    assert table.admitted == pytest.approx(0.004)


def test_dear_looking_shows_traced_times():
    table = breakdown([ledger({Cause.COMPILE: 39})], 0.020)
    assert not table.scaled
    assert table.looking == pytest.approx(2.0)
    assert table.seconds == pytest.approx(0.040)


def test_a_cause_seen_in_one_launch_of_three_has_median_zero_and_a_range():
    made = [ledger({Cause.COMPILE: 9}), ledger({Cause.COMPILE: 9}), ledger({Cause.TRACE: 9})]
    trace = next(p for p in breakdown(made, None).parts if p.name == "trace")
    assert trace.seconds == 0
    assert trace.low == 0
    assert trace.high > 0


def test_small_causes_share_a_row_but_data_movement_never_hides(two_devices):
    (table, *_) = breakdowns(two_devices, two_devices.summaries[0])
    sheet = ledger_sheet(two_devices, table)
    names = [row[0] for row in sheet.rows]
    assert names[-3:] == ["steady work", "unattributed", "run 0"]
    assert "host_to_device" in names
    assert "3 smaller causes" in names
    assert "python_gc" in sheet.details[names.index("3 smaller causes")]


def test_the_table_stays_short():
    made = ledger(dict.fromkeys(CAUSES, 10))
    sheet = ledger_sheet(_result(), breakdown([made], None))
    assert len(sheet.rows) <= MOST_ROWS + 5


def _result():
    from coldsoak.model.result import Result

    return Result(version="0", id="x", kind="run", created="")


def test_round_zero_and_invalid_launches_are_left_out(two_devices):
    from msgspec.structs import replace

    launches = [
        replace(one, invalid="throttled") if one.index == 13 else one
        for one in two_devices.launches
    ]
    result = replace(two_devices, launches=tuple(launches))
    (table,) = breakdowns(result, result.summaries[0])
    assert table.launches == 2


def test_evidence_is_one_line_that_fits():
    items = tuple(Item(label=f"kernel_{i}_" + "x" * 60, ns=MS) for i in range(8))
    line = evidence_line(Evidence(count=1200, bytes=1 << 30, items=items))
    assert line.startswith("1,200 events, 1.00 GiB · kernel_0_")
    assert len(line) <= 72


def test_without_items_the_sources_speak():
    assert evidence_line(Evidence(sources=("perf", "imports"))) == "perf, imports"
    assert evidence_line(Evidence()) == ""
