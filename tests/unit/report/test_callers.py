"""Regions that are told apart by the place of the call alone."""

from msgspec.structs import replace

from coldsoak.model.result import Site
from coldsoak.report.select import caller_of, spoken
from coldsoak.report.tables import regions_sheet


def called_from(result, *lines):
    """Return ``result`` with its series without a case, each called at a line of its own."""
    series = tuple(
        replace(
            one,
            label="time_matmul (demo.py:10-14)",
            case={},
            stack=(Site(file="demo.py", line=14), Site(file="demo.py", line=line)),
        )
        for one, line in zip(result.series, lines, strict=True)
    )
    return replace(result, series=series)


def test_the_call_is_named_where_nothing_else_tells(two_devices):
    result = called_from(two_devices, 22, 29)
    first, second = result.series
    assert (caller_of(result, first), caller_of(result, second)) == ("demo.py:22", "demo.py:29")
    assert spoken(result, first.id) == "time_matmul called at demo.py:22"
    sheet = regions_sheet(result, result.summaries[0])
    assert sheet.columns[0].title == "called at"
    assert [row[0] for row in sheet.rows] == ["demo.py:22", "demo.py:29"]


def test_cases_that_differ_need_no_caller(two_devices):
    assert all(caller_of(two_devices, one) == "" for one in two_devices.series)
