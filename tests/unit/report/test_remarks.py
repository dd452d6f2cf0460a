"""How many launches, what failed, what to type next."""

import pytest
from msgspec.structs import replace

from coldsoak.model.result import Note, Options, SourceState
from coldsoak.report.markdown import markdown
from coldsoak.report.next_step import next_step
from coldsoak.report.remarks import counts_line, failures, notes, sources_line
from coldsoak.report.sentence import headline
from coldsoak.report.tables import phases_sheet


def without_interpreters(result):
    """Return ``result`` as if its command were no Python program."""
    launches = tuple(replace(one, processes=(), executions=()) for one in result.launches)
    summaries = tuple(replace(one, series=(), phases={}) for one in result.summaries)
    return replace(result, launches=launches, summaries=summaries)


def test_a_program_that_is_no_python_is_not_told_to_read_clocks(no_region):
    result = without_interpreters(no_region)
    assert "could not be looked into" in headline(result)
    assert "--rerun" not in next_step(result)


def test_the_end_condition_is_named_in_place_of_exit(no_region):
    result = replace(no_region, options=Options(until="port:8000"))
    assert "from start until port:8000 is met" in headline(result)


def test_counts_always_name_what_was_left_out(two_devices):
    line = counts_line(two_devices, two_devices.summaries[0])
    assert line.startswith("10 timed launches, 1 discarded, 0 invalid, 0 failed, 3 traced;")
    assert "narrow enough (±5 %)" in line


def test_few_launches_are_said_to_give_no_interval(sweep):
    assert "An interval needs 6 launches." in counts_line(sweep, sweep.summaries[0])


def test_failures_of_one_kind_share_a_sentence(failing):
    ((text, tail),) = failures(failing)
    assert text == "Launches 0, 1, 2 exited with status 1; output in logs/000.log"
    assert tail[-1] == "ModuleNotFoundError: No module named 'jax'"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": "timeout"}, "ran longer than 600 s"),
        ({"status": "killed", "signal": 9}, "died of signal 9"),
        ({"status": "not started"}, "could not be started"),
    ],
)
def test_each_way_to_fail_has_words(failing, change, words):
    result = replace(failing, launches=(replace(failing.launches[0], **change),))
    assert words in failures(result)[0][0]


def test_notes_are_said_once_with_their_number(no_region):
    first = replace(no_region.launches[1], notes=(Note(code="x", text="only here"),))
    result = replace(no_region, launches=(first, *no_region.launches[2:]))
    assert "only here (in 1 of 10 launches)" in notes(result)


def test_notes_that_differ_in_numbers_are_said_once(no_region):
    launches = tuple(
        replace(one, notes=(Note(code="x", text=f"{one.index} MiB of 9 evicted"),))
        for one in no_region.launches
    )
    said = notes(replace(no_region, launches=launches))
    assert "1 MiB of 9 evicted (much the same in 9 other launches)" in said
    assert sum("evicted" in line for line in said) == 1


def test_replaced_launches_are_counted_with_the_reason(no_region):
    spoilt = tuple(replace(one, invalid="throttled") for one in no_region.launches[:3])
    result = replace(no_region, launches=(*spoilt, *no_region.launches[3:]))
    assert "2 launches left out: throttled." in notes(result)


def test_reasons_that_differ_in_a_number_are_one(no_region):
    shares = dict(enumerate((78, 97, 9), start=1))
    launches = tuple(
        replace(one, invalid=f"others used {shares[one.index]}% of 2")
        if one.index in shares
        else one
        for one in no_region.launches
    )
    said = notes(replace(no_region, launches=launches))
    assert "3 launches left out: others used 9 to 97% of 2." in said


def test_figures_of_a_worker_are_no_notes_for_readers(no_region):
    launches = [replace(one, notes=(Note(code="data", text="{}"),)) for one in no_region.launches]
    assert "{}" not in " ".join(notes(replace(no_region, launches=tuple(launches))))


def test_missing_frameworks_share_a_line(bench):
    missing = tuple(
        Note(code="framework_missing", text=f"{name} is not installed: pip install {name}")
        for name in ("jax", "cupy")
    )
    assert notes(replace(bench, notes=missing))[0].startswith("Not installed: jax, cupy.")


def test_silent_sources_are_announced(two_devices):
    assert sources_line(two_devices, "command") == ("Not seen: perf off (perf_event_open refused).")
    assert sources_line(two_devices, "another") == ""


def test_lost_records_are_told_from_a_source_that_was_off(two_devices):
    states = (
        SourceState(name="cupti", state="lost", reason="torch.profiler took CUPTI over"),
        SourceState(name="io", state="off"),
        SourceState(name="perf", state="lost", reason="user and kernel at 1 kHz", lost=1),
        SourceState(name="torch", state="on", reason="torch 2.13"),
    )
    launches = tuple(replace(one, sources=states) for one in two_devices.launches)
    assert sources_line(replace(two_devices, launches=launches), "command") == (
        "Not seen: cupti lost records (torch.profiler took CUPTI over); io off; perf lost 1 record."
    )


def test_figures_up_to_a_failure_are_not_called_what_was_waited_for(no_region):
    asked = replace(
        no_region, options=Options(until="port:1"), notes=(Note(code="salvaged", text="x"),)
    )
    assert "from start to exit" in headline(asked)
    failed = replace(asked.summaries[0], stopped_by="failure")
    step = next_step(replace(asked, summaries=(failed,)))
    assert step == "coldsoak run --echo --until port:1 -- python demo.py"


def test_an_interrupt_in_the_first_launch_is_not_called_a_failure(no_region):
    first = replace(no_region.launches[0], status="interrupted", exit_code=None, signal=2)
    summaries = tuple(replace(one, n=0, stopped_by="interrupted") for one in no_region.summaries)
    result = replace(no_region, launches=(first,), summaries=summaries, complete=False)
    assert headline(result) == "Interrupted before anything was measured."
    assert failures(result) == []
    assert next_step(result) == "coldsoak run -- python demo.py"
    assert "discarded" not in markdown(result)


def test_what_comes_after_the_end_condition_is_no_part_of_the_way_to_it(no_region):
    summary = no_region.summaries[0]
    assert "exit" in summary.phases
    asked = replace(no_region, options=Options(until="port:8000"))
    names = [row[0] for row in phases_sheet(asked, summary).rows]
    assert "exit" not in names
    assert names[-1] == "start to port:8000"
    assert "exit" in [row[0] for row in phases_sheet(no_region, summary).rows]
