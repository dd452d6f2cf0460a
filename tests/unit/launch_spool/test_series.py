"""Readings become executions and series."""

from __future__ import annotations

import pytest


def runs(contents):
    return [(one.series, one.run) for one in contents.executions]


@pytest.fixture
def loop(write):
    """A process that times the same two lines, once for each key."""

    def make(keys, **fields):
        writer = write(**fields).phases(agent_ready=21, main_start=22)
        writer.site(0, 8, "time_matmul").site(1, 11, "time_matmul")
        for place, (number, case) in enumerate(keys):
            frames = [("script.py", 11, "time_matmul"), ("script.py", 20, "<module>")]
            writer.key(number, *frames, **case)
            start = 100 + 50 * place
            writer.timed(start, start + 10, reading=2 * place, key=number)
        return writer

    return make


def test_a_subtraction_makes_an_execution(loop, read):
    loop([(0, {"device": "'/GPU:0'", "shape": "(50, 50)"})])
    contents = read()
    (series,) = contents.series
    (execution,) = contents.executions
    assert series.kind == "clock"
    assert series.label == "time_matmul (script.py:8-11) device='/GPU:0' shape=(50, 50)"
    assert (series.start.file, series.start.line, series.end.line) == ("script.py", 8, 11)
    assert series.clock == "time.perf_counter"
    assert len(series.id) == 12
    assert (execution.start_ns, execution.end_ns) == (100_000_000, 110_000_000)
    assert execution.seconds == pytest.approx(0.01)
    assert execution.ready_ns is None


def test_another_case_is_another_series(loop, read):
    loop([(0, {"device": "'/CPU:0'"}), (1, {"device": "'/GPU:0'"}), (0, {"device": "'/CPU:0'"})])
    contents = read()
    first, second = (series.id for series in contents.series)
    assert runs(contents) == [(first, 0), (second, 0), (first, 1)]
    assert [series.order for series in contents.series] == [0, 1]


def test_each_rank_has_a_first_run_of_its_own(loop, read):
    for pid, rank in ((10, "0"), (11, "1")):
        loop([(0, {}), (0, {})], pid=pid, rank=rank)
    contents = read()
    assert [series.case for series in contents.series] == [{"rank": "0"}, {"rank": "1"}]
    assert sorted(run for _, run in runs(contents)) == [0, 0, 1, 1]


def test_a_single_rank_is_no_case(loop, read):
    loop([(0, {})], rank="0")
    assert [series.case for series in read().series] == [{}]


def test_the_same_lines_called_from_two_places_are_two_series(write, read):
    writer = write().site(0, 8, "f").site(1, 11, "f")
    writer.key(0, ("script.py", 11, "f"), ("script.py", 20, "<module>"))
    writer.key(1, ("script.py", 11, "f"), ("script.py", 30, "<module>"))
    writer.timed(100, 110, reading=0, key=0).timed(120, 130, reading=2, key=1)
    assert len(read().series) == 2


def test_ids_do_not_depend_on_the_launch(tmp_path, loop, read):
    loop([(0, {"n": "5"})])
    before = read().series[0].id
    for path in tmp_path.glob("*.jsonl"):
        path.unlink()
    loop([(7, {"n": "5"})], pid=99, begin=30)
    assert read(spawn_pid=99).series[0].id == before


def test_a_counter_of_runs_is_left_out_of_the_case(loop, read):
    loop([(i, {"i": str(i), "n": "500"}) for i in range(4)])
    contents = read()
    assert [series.case for series in contents.series] == [{"n": "500"}]
    assert [execution.run for execution in contents.executions] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "values",
    [["0", "1"], ["50", "51", "52"], ["0", "2", "4"], ["0", "0", "1", "1"], ["a", "b", "c"]],
)
def test_values_that_may_be_the_case_are_kept(loop, read, values):
    loop([(place, {"x": value}) for place, value in enumerate(values)])
    assert {series.case["x"] for series in read().series} == set(values)


def test_workers_of_a_pool_keep_what_looks_like_a_counter(loop, read):
    loop([(i, {"i": str(i)}) for i in range(4)], how="fork")
    assert len(read().series) == 4


def test_a_counter_may_start_again_in_each_rerun(loop, write, read):
    writer = loop([(i, {"i": str(i % 3)}) for i in range(6)])
    writer.add(["phase", "rerun_start", 1_000_000_000_000 + 240_000_000, 10, "1"])
    contents = read()
    assert [series.case for series in contents.series] == [{}]
    assert [execution.rerun for execution in contents.executions] == [0, 0, 0, 1, 1, 1]


def test_the_pairing_is_by_value_and_not_by_order(write, read):
    """Two coroutines interleave: each subtraction names its own start."""
    writer = write()
    for number, line in enumerate((5, 7, 15, 17)):
        writer.site(number, line, "work" if line < 10 else "other")
    writer.key(0, ("script.py", 7, "work")).key(1, ("script.py", 17, "other"))
    writer.read_clock(0, 0, 100).read_clock(1, 2, 105)
    writer.read_clock(2, 1, 120).read_clock(3, 3, 160)
    writer.region(0, 2, 100, 120, 0).region(1, 3, 105, 160, 1)
    contents = read()
    assert [series.label for series in contents.series] == [
        "work (script.py:5-7)",
        "other (script.py:15-17)",
    ]
    assert [round(execution.wall * 1e3) for execution in contents.executions] == [20, 55]


class TestNeighbours:
    def test_two_readings_without_a_subtraction_pair(self, write, read):
        writer = write().site(0, 3).site(1, 5)
        writer.read_clock(0, 0, 100).read_clock(1, 1, 130)
        contents = read()
        assert contents.series[0].kind == "neighbours"
        assert contents.series[0].label == "script.py:3-5"
        assert contents.executions[0].seconds == pytest.approx(0.03)

    def test_no_reading_is_used_twice(self, write, read):
        writer = write().site(0, 3).site(1, 5).site(2, 7)
        writer.read_clock(0, 0, 100).read_clock(1, 1, 130).read_clock(2, 2, 170)
        writer.region(0, 1, 100, 130)
        contents = read()
        assert [series.kind for series in contents.series] == ["clock"]

    def test_three_readings_give_one_pair_and_a_rest(self, write, read):
        writer = write().site(0, 3).site(1, 5).site(2, 7)
        writer.read_clock(0, 0, 100).read_clock(1, 1, 130).read_clock(2, 2, 170)
        assert [execution.end_ns for execution in read().executions] == [130_000_000]

    def test_a_time_stamp_at_one_place_is_no_region(self, write, read):
        writer = write().site(0, 3, "log")
        for number in range(4):
            writer.read_clock(number, 0, 100 + number)
        assert read().executions == ()

    def test_threads_functions_and_clocks_do_not_mix(self, write, read):
        writer = write().site(0, 3).site(1, 5).site(2, 9, "g")
        writer.add(["site", 3, "/home/me/script.py", 11, "<module>", "time.time"])
        writer.read_clock(0, 0, 100).read_clock(1, 1, 110, thread=77)
        writer.read_clock(2, 2, 120).read_clock(3, 3, 130)
        assert read().executions == ()


def test_a_declared_region_has_its_name_and_place(write, read):
    writer = write().key(0, ("app/main.py", 12, "load"))
    writer.region(-1, -1, 100, 150, kind="declared", name="load model", ready_ns=0)
    (series,) = read().series
    assert series.label == "load model (main.py:12)"
    assert series.start.file == "app/main.py"


def test_timeit_gives_seconds_per_loop_and_wall_for_all(write, read):
    write().key(0, ("script.py", 4, "<module>")).region(
        -1, -1, 100, 150, kind="timeit", loops=100, seconds=0.05
    )
    contents = read()
    assert contents.series[0].label == "timeit (script.py:4)"
    assert contents.executions[0].seconds == pytest.approx(0.0005)
    assert contents.executions[0].wall == pytest.approx(0.05)


def test_the_moment_at_which_the_device_was_done_is_kept(write, read):
    writer = write().site(0, 3).site(1, 5).read_clock(0, 0, 100).read_clock(1, 1, 101)
    writer.region(0, 1, 100, 101, ready_ns=1_000_000_000_000 + 180_000_000)
    assert read().executions[0].ready_ns == 180_000_000


def test_runs_are_numbered_over_all_processes(loop, read):
    loop([(0, {})])
    loop([(0, {})], pid=11, begin=40, ppid=10)
    assert [execution.run for execution in read().executions] == [0, 1]


def test_a_forked_child_may_use_what_it_inherited(write, read):
    parent = write().site(0, 3).site(1, 5).key(0, ("script.py", 5, "<module>"))
    parent.read_clock(0, 0, 100)
    child = write(11, 120, ppid=10, how="fork")
    child.read_clock(1, 1, 150).region(0, 1, 100, 150)
    contents = read()
    assert contents.series[0].label == "script.py:3-5"
    assert contents.executions[0].pid == 11


def test_files_outside_the_working_directory_keep_their_path(write, read):
    writer = write(cwd="/elsewhere").site(0, 3).site(1, 5)
    writer.timed(100, 110, reading=0)
    assert read().series[0].start.file == "/home/me/script.py"
