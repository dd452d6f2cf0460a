"""The whole answer, as it stands in a log file of 80 columns."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from coldsoak.report.console import render

SNAPSHOTS = Path(__file__).parent / "snapshots"
RESULTS = [
    "two_devices",
    "one_region",
    "sweep",
    "no_region",
    "failing",
    "asynchronous",
    "bench",
    "bench_card",
]


def text_of(result, width=80, **options):
    out = io.StringIO()
    render(result, Console(file=out, width=width, **options))
    return out.getvalue()


@pytest.mark.parametrize("name", RESULTS)
def test_answer_reads_as_recorded(name, request):
    # Write the files anew with COLDSOAK_UPDATE_SNAPSHOTS=1, then read the difference.
    text = text_of(request.getfixturevalue(name))
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("COLDSOAK_UPDATE_SNAPSHOTS"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RESULTS)
def test_no_line_is_wider_than_the_log_or_ends_in_spaces(name, request):
    for line in text_of(request.getfixturevalue(name)).splitlines():
        assert len(line) <= 80 or line.startswith("Next: ")
        assert line == line.rstrip()


@pytest.mark.parametrize("name", RESULTS)
def test_the_last_line_is_a_command(name, request):
    assert text_of(request.getfixturevalue(name)).splitlines()[-1].startswith("Next: coldsoak ")


def test_colour_changes_no_character(two_devices):
    coloured = text_of(two_devices, force_terminal=True, color_system="truecolor")
    stripped = "".join(_without_escapes(coloured))
    assert stripped == text_of(two_devices)


def _without_escapes(text):
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_narrow_terminals_lose_no_row(two_devices):
    narrow = text_of(two_devices, width=60)
    assert "lazy_kernel_load" in narrow
    assert "unattributed" in narrow
