"""Markdown and CSV say the same as the console."""

import csv
import io

from coldsoak.report.csvfile import HEADER, csv_text
from coldsoak.report.markdown import markdown
from coldsoak.report.sheet import Column, Sheet, bar, drop_empty, lift_constants


def test_csv_has_every_execution_and_every_launch_without_one(two_devices, failing):
    rows = list(csv.DictReader(io.StringIO(csv_text(two_devices))))
    assert len(rows) == sum(len(launch.executions) for launch in two_devices.launches)
    assert rows[0]["region"] == "time_matmul (demo.py:8-11)"
    assert float(rows[0]["region_s"]) == two_devices.launches[0].executions[0].wall
    bare = list(csv.DictReader(io.StringIO(csv_text(failing))))
    assert [row["status"] for row in bare] == ["failed"] * 3
    assert set(bare[0]) == set(HEADER)


def test_markdown_tables_are_well_formed(two_devices):
    text = markdown(two_devices)
    assert text.startswith("**The first run of time_matmul")
    tables = [block.splitlines()[2:] for block in text.split("\n\n### ") if "| " in block]
    for lines in tables:
        widths = {line.count("|") for line in lines if line.startswith("|")}
        assert len(widths) <= 1
    assert "█" not in text


def test_markdown_escapes_what_would_break_a_table():
    from coldsoak.report.markdown import _line

    assert _line(["a|b", "two\nlines"]) == "| a\\|b | two lines |"


SHEET = Sheet("", (Column("a"), Column("b"), Column("c")), (("1", "x", "–"), ("2", "x", "–")))


def test_constant_columns_move_into_the_title():
    slim, said = lift_constants(SHEET, ["a", "b"])
    assert said == {"b": "x"}
    assert slim.rows == (("1", "–"), ("2", "–"))


def test_empty_columns_go():
    assert drop_empty(SHEET, "–").rows == (("1", "x"), ("2", "x"))


def test_bars_show_shares():
    assert bar(1.0, 4) == "████"
    assert bar(0.5, 4) == "██"
    assert bar(0.001, 4) == "▏"
    assert bar(0.0, 4) == ""
    assert bar(-0.2, 4) == ""
    assert bar(1.7, 4) == "████"


def test_regions_of_one_file_are_named_by_function_and_lines(two_devices):
    from msgspec.structs import replace

    from coldsoak.report.tables import region_names

    first, second = two_devices.series
    renamed = (
        replace(first, label="cold (demo.py:8-11)", case={}),
        replace(second, label="demo.py:14-17", case={"shape": "(50, 50)"}),
    )
    names, rows = region_names(
        replace(two_devices, series=renamed), list(two_devices.summaries[0].series)
    )
    assert names == ["region", "shape"]
    assert rows == [("cold 8-11", "–"), ("line 14-17", "(50, 50)")]


def test_regions_of_two_files_keep_them(two_devices):
    from msgspec.structs import replace

    from coldsoak.report.tables import region_names

    first, second = two_devices.series
    renamed = (
        replace(first, label="cold (one.py:8-11)", case={}),
        replace(second, label="warm (two.py:14-17)", case={}),
    )
    _, rows = region_names(
        replace(two_devices, series=renamed), list(two_devices.summaries[0].series)
    )
    assert rows == [("cold (one.py:8-11)",), ("warm (two.py:14-17)",)]
