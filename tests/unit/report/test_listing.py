"""The list of stored results."""

from msgspec.structs import replace

from coldsoak.report.listing import listing_sheet, unreadable_row


def test_each_result_has_a_row_and_hidden_ones_are_told(two_devices, no_region):
    broken = unreadable_row("20260101T000000Z-aaaaaa", "it is damaged")
    summaries = tuple(replace(one, stopped_by="interrupted") for one in two_devices.summaries)
    stopped = replace(two_devices, complete=False, summaries=summaries)
    sheet = listing_sheet([stopped, no_region, broken], "/data/results", 7)
    assert [row[1:] for row in sheet.rows] == [
        ("10", "443 ms", "interrupted: python demo.py"),
        ("10", "1.009 s", "python demo.py"),
        ("–", "–", "it is damaged"),
    ]
    assert sheet.remarks == ("4 older ones are not listed: --limit 7",)


def test_each_way_to_end_early_has_a_word(two_devices):
    failed = tuple(replace(one, stopped_by="failure") for one in two_devices.summaries)
    results = [
        replace(two_devices, complete=False, summaries=failed),
        replace(two_devices, complete=False, summaries=()),
        replace(two_devices, kind="fix"),
    ]
    assert [row[3] for row in listing_sheet(results, "/data/results", 3).rows] == [
        "failed: python demo.py",
        "killed: python demo.py",
        "fix python demo.py",
    ]
