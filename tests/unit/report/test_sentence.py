"""One sentence in plain words, for every kind of answer."""

import pytest
from msgspec.structs import replace

from coldsoak.model.result import Note
from coldsoak.report.sentence import headline


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "two_devices",
            ["The first run of time_matmul with device=GPU:0 takes 443 ms", "once per process"],
        ),
        ("one_region", ["The first run takes 1.843 s, later runs 1.427 ms: 1.842 s are paid"]),
        ("sweep", ["shape=(15000, 15000) takes", "no later run in the process"]),
        ("no_region", ["from start to exit", "reads no clock"]),
        ("failing", ["Nothing could be measured: 3 of 3 launches failed."]),
        ("asynchronous", ["until the device is done"]),
        ("bench", ["torch with inductor takes 5.42 s", "numpy has a first result soonest"]),
    ],
)
def test_the_sentence_says_it(name, parts, request):
    sentence = headline(request.getfixturevalue(name))
    assert sentence.endswith(".")
    for part in parts:
        assert part in sentence


def changed(result, **fields):
    """Return ``result`` with other figures in the first series of its first summary."""
    summary = result.summaries[0]
    series = (replace(summary.series[0], **fields), *summary.series[1:])
    return replace(result, summaries=(replace(summary, series=series),))


def test_no_steady_state_is_said(one_region):
    assert "never settle" in headline(changed(one_region, steady_class="no steady state"))


def test_a_long_warm_up_is_said(one_region):
    assert "takes 4 runs to settle" in headline(changed(one_region, steady_start=(4, 3, 6)))


def test_an_overhead_that_may_be_zero_is_not_named(one_region):
    overhead = replace(one_region.summaries[0].series[0].overhead, low=-0.001)
    assert "no first-run cost worth naming" in headline(changed(one_region, overhead=overhead))


def test_nothing_measured_yet(failing):
    assert headline(replace(failing, launches=())) == "Nothing has been measured yet."


def test_what_is_paid_is_never_negative(one_region):
    series = one_region.summaries[0].series[0]
    below = replace(series.overhead, point=-0.2, low=None, high=None)
    assert ": 1.84 s are paid once per process" in headline(changed(one_region, overhead=below))


def test_code_on_the_command_line_is_not_said_to_read_no_clock(no_region):
    for words in (("python", "-u", "-c", "import time; time.time()"), ("python", "-")):
        inline = replace(no_region, command=words)
        assert headline(inline).endswith(
            "; code that is in no file is not looked into: in one, its clock readings are."
        )
    own = replace(no_region, command=("python", "tool.py", "-c", "x"))
    assert "own code reads no clock" in headline(own)


def test_figures_of_a_command_that_failed_begin_with_that(one_region):
    failed = replace(one_region.summaries[0], stopped_by="failure")
    note = Note(code="salvaged", text="no launch counts")
    result = replace(one_region, summaries=(failed,), notes=(note,))
    assert headline(result).startswith("The command failed; until then, the first run takes ")
