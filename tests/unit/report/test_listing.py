"""The list of stored results."""

from msgspec.structs import replace

from coldsoak.report.listing import listing_sheet, unreadable_row


def test_each_result_has_a_row_and_hidden_ones_are_told(two_devices, no_region):
    broken = unreadable_row("20260101T000000Z-aaaaaa", "it is damaged")
    unfinished = replace(two_devices, complete=False)
    sheet = listing_sheet([unfinished, no_region, broken], "/data/results", 7)
    assert [row[1:] for row in sheet.rows] == [
        ("10", "443 ms", "python demo.py (interrupted)"),
        ("10", "1.009 s", "python demo.py"),
        ("–", "–", "it is damaged"),
    ]
    assert sheet.remarks == ("4 older ones are not listed: --limit 7",)
