"""A program that fails in its first launch has measured something all the same."""

from msgspec.structs import replace

from coldsoak.model.result import Arm, Execution, Launch, Options, Result, Series
from coldsoak.stats.salvage import salvaged
from coldsoak.stats.summary import summarise


def launch(index, status="ok", *, seconds=(0.5, 0.1), **fields):
    executions = tuple(
        Execution(
            series="a",
            run=run,
            pid=1,
            thread=1,
            start_ns=run * 10**9,
            end_ns=run * 10**9 + round(one * 1e9),
            seconds=one,
        )
        for run, one in enumerate(seconds)
    )
    fields = {"arm": "command", "kind": "timed", "round": index, "wall_ns": 10**9, **fields}
    return Launch(index=index, status=status, executions=executions, **fields)


def result(*launches):
    made = Result(
        version="0",
        id="x",
        kind="run",
        created="",
        command=("python", "a.py"),
        options=Options(),
        arms=(Arm(name="command", argv=("python", "a.py")),),
        series=(Series(id="a", kind="clock", label="a.py:1"),),
        launches=launches,
    )
    return replace(made, summaries=summarise(made))


def test_a_failed_first_launch_is_shown_and_named():
    found = salvaged(result(launch(0, "failed", exit_code=1)))
    (summary,) = found.summaries
    assert (summary.n, summary.failed, summary.stopped_by) == (1, 1, "failure")
    assert summary.series[0].first.point == 0.5
    assert "failed" in found.notes[-1].text


def test_an_interrupted_launch_is_shown_and_named():
    found = salvaged(result(launch(0, "interrupted")))
    assert found.summaries[0].stopped_by == "interrupted"
    assert "interrupted" in found.notes[-1].text


def test_a_whole_launch_is_preferred():
    found = salvaged(result(launch(0), launch(1, "interrupted", seconds=(9.0,))))
    assert found.summaries[0].n == 1
    assert found.summaries[0].series[0].first.point == 0.5
    assert "discarded" in found.notes[-1].text


def test_launches_that_count_are_enough():
    whole = result(launch(0), launch(1), launch(2, "failed"))
    assert salvaged(whole) is whole


def test_without_a_region_there_is_nothing_to_show():
    empty = result(launch(0, "failed", seconds=()))
    assert salvaged(empty) is empty
