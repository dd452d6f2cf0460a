"""The numbers of a result: which launches count, and how they are put together."""

from __future__ import annotations

import random

import msgspec
import pytest

from coldsoak.model.result import (
    Arm,
    Execution,
    ImportCost,
    Launch,
    Options,
    Process,
    Result,
    Series,
    Stretch,
)
from coldsoak.stats import summary

S = 1_000_000_000


def execution(run, start, seconds, *, ready=None, series="s"):
    begin = round(start * S)
    return Execution(
        series=series,
        run=run,
        pid=10,
        thread=10,
        start_ns=begin,
        end_ns=begin + round(seconds * S),
        seconds=seconds,
        ready_ns=None if ready is None else begin + round(ready * S),
    )


def launch(place, walls=(), *, arm="base", wall=2.0, ready=None, **more):
    runs = [
        execution(run, 1 + 10 * run, seconds, ready=None if ready is None else ready[run])
        for run, seconds in enumerate(walls)
    ]
    fields = {"kind": "timed", "round": place, "executions": tuple(runs), **more}
    return Launch(index=place, arm=arm, wall_ns=round(wall * S), **fields)


def result(*launches, arms=("base",), **options):
    return Result(
        version="0",
        id="x",
        kind="run",
        created="",
        options=Options(**options),
        arms=tuple(Arm(name=name, argv=("true",)) for name in arms),
        series=(Series(id="s", kind="clock", label="f"),),
        launches=launches,
        complete=True,
    )


def only(*launches, **options):
    (found,) = summary.summarise(result(*launches, **{"launches": len(launches), **options}))
    return found


def jitter(n, scale=0.01, seed=1):
    source = random.Random(seed)
    return [1 + source.gauss(0, scale) for _ in range(n)]


class TestWhichLaunchesCount:
    def test_discarded_invalid_failed_and_other_kinds_do_not(self):
        found = only(
            launch(0, [9.0]),
            launch(1, [0.5], wall=1.0),
            launch(2, [0.5], wall=3.0),
            launch(3, [7.0], invalid="throttled"),
            launch(4, [7.0], status="failed", exit_code=1),
            launch(5, [7.0], status="killed", signal=9),
            launch(1, [7.0], kind="traced"),
            launch(1, [7.0], kind="synced"),
        )
        assert (found.n, found.discarded, found.invalid, found.failed) == (2, 1, 1, 2)
        assert found.wall.point == 2.0
        assert found.series[0].first.maximum == 0.5

    def test_arms_are_apart_and_in_their_order(self):
        found = summary.summarise(
            result(launch(1, [1.0], arm="b"), launch(1, [2.0], arm="a"), arms=("b", "a"))
        )
        assert [(one.arm, one.series[0].first.point) for one in found] == [("b", 1.0), ("a", 2.0)]

    def test_nothing_measured_is_a_summary_without_numbers(self):
        found = only(launch(1, status="failed"))
        assert (found.n, found.failed, found.stopped_by) == (0, 1, "failure")
        assert found.wall is found.first_result is found.trend is None
        assert found.series == ()

    def test_a_program_without_python_has_its_wall_time(self):
        found = only(*(launch(place, wall=place) for place in range(1, 8)))
        assert found.wall.point == 4.0
        assert found.phases == found.imports == {}


class TestSeries:
    def test_one_run_has_only_the_first(self):
        (series,) = only(launch(1, [0.5]), launch(2, [0.7])).series
        assert series.first.point == pytest.approx(0.6)
        assert series.later is series.steady is series.overhead is series.ratio is None
        assert series.steady_class == "not assessed"
        assert series.runs == (1, 1, 1)

    def test_two_runs_give_a_ratio_and_no_overhead(self):
        (series,) = only(*(launch(place, [0.5, 0.1]) for place in range(1, 4))).series
        assert series.later.point == pytest.approx(0.1)
        assert series.ratio.point == pytest.approx(5)
        assert series.overhead is None

    def test_few_runs_are_held_against_the_median_of_the_later_ones(self):
        (series,) = only(*(launch(place, [0.5, 0.1, 0.2, 0.12]) for place in range(1, 8))).series
        assert series.overhead.point == pytest.approx(0.38)
        assert "later runs" in series.overhead.method
        assert series.steady is None
        assert series.steady_counts == {"not assessed": 7}
        assert series.overhead.low == series.overhead.high == series.overhead.point

    def test_the_overhead_is_paired_inside_each_launch(self):
        """Launches differ by a factor of ten; the ratio inside each is the same."""
        rows = [[5 * level, level, level, level] for level in (0.01, 0.02, 0.05, 0.1, 0.04, 0.03)]
        (series,) = only(*(launch(place, row) for place, row in enumerate(rows, 1))).series
        assert series.ratio.minimum == pytest.approx(5)
        assert series.ratio.maximum == pytest.approx(5)

    def test_with_a_steady_state_all_warm_up_runs_are_overhead(self):
        rows = [
            [1.0, *([0.3] * 4), *(0.1 * noise for noise in jitter(30, seed=place))]
            for place in range(8)
        ]
        (series,) = only(*(launch(place, row) for place, row in enumerate(rows, 1))).series
        assert (series.steady_class, series.steady_start) == ("warming", (5, 5, 5))
        assert series.steady.point == pytest.approx(0.1, rel=0.02)
        assert series.overhead.point == pytest.approx(1.0 + 4 * 0.3 - 5 * 0.1, rel=0.02)
        assert series.ratio.point == pytest.approx(10, rel=0.02)
        assert "steady tail" in series.overhead.method

    def test_launches_that_disagree_are_inconsistent_and_counted(self):
        rows = [[1.0] + [0.1] * 30 for _ in range(3)]
        rows += [[1.0] + [0.3] * 10 + [0.1] * 30 for _ in range(3)]
        (series,) = only(*(launch(place, row) for place, row in enumerate(rows, 1))).series
        assert series.steady_class == "inconsistent"
        assert series.steady_counts == {"flat": 3, "warming": 3}
        assert series.steady.point == pytest.approx(0.1)

    def test_without_a_steady_state_the_later_runs_stand_in(self):
        drift = [1.0] + [0.1 * 1.05**run for run in range(40)]
        (series,) = only(*(launch(place, drift) for place in range(1, 4))).series
        assert series.steady_class == "no steady state"
        assert series.steady is None
        assert "later runs" in series.overhead.method

    def test_iterations_are_never_pooled(self):
        rows = [[1.0] + [0.1] * 99, [1.0, 0.3, 0.3], [1.0, 0.3, 0.3]]
        (series,) = only(*(launch(place, row) for place, row in enumerate(rows, 1))).series
        assert series.later.point == pytest.approx(0.3)
        assert series.later.n == 3
        assert series.runs == (3, 3, 100)

    def test_ready_times_come_from_synced_launches(self):
        timed = [launch(place, [0.2, 0.1]) for place in range(1, 4)]
        synced = [
            launch(place, [0.2, 0.1], kind="synced", ready=[0.9, 0.3]) for place in range(1, 4)
        ]
        found = only(*timed, *synced)
        (series,) = found.series
        assert series.first.point == pytest.approx(0.2)
        assert (series.ready.point, series.ready_later.point) == pytest.approx((0.9, 0.3))
        assert found.first_result.point == pytest.approx(1.9)
        assert "waited" in found.first_result.method


def test_the_first_result_is_the_first_end():
    runs = (execution(0, 0.2, 1.0, series="outer"), execution(0, 0.5, 0.1))
    found = only(launch(1, executions=runs))
    assert found.first_result.point == pytest.approx(0.6)


def test_a_clock_of_another_time_namespace_gives_no_negative_time():
    early = execution(0, -9, 1.0)
    found = only(*(launch(place, executions=(early,)) for place in (1, 2)))
    assert found.first_result.point == 0
    assert found.series[0].first.point == 1.0


def test_a_first_result_at_the_spawn_divides_nothing():
    at_once = execution(0, 0, 0.0, ready=0.5)
    found = only(launch(1, executions=(at_once,)), launch(1, executions=(at_once,), kind="synced"))
    assert found.first_result.point == 0.5


def test_synchronous_regions_keep_the_timed_first_result():
    timed = [launch(place, [0.2]) for place in range(1, 8)]
    synced = launch(1, [0.2], kind="synced", ready=[0.2001])
    assert only(*timed, synced).first_result.n == 7


class TestProcess:
    @staticmethod
    def process(place):
        stretches = [
            Stretch(kind="start", name="interpreter", ns=place * S),
            Stretch(kind="start", name="site", ns=S),
            Stretch(kind="script", name="", ns=2 * S),
        ]
        if place == 3:
            stretches.append(Stretch(kind="exit", name="atexit", ns=S))
        costs = [("numpy", place * S), ("json", 100), ("re", 200)]
        imports = tuple(
            ImportCost(package=name, modules=1, self_ns=ns, cumulative_ns=ns, compile_ns=0, gc_ns=0)
            for name, ns in costs
        )
        return Process(
            pid=1,
            ppid=0,
            argv=(),
            how="script",
            python="",
            executable="",
            start_ns=0,
            ready_ns=0,
            agent_ns=0,
            stretches=tuple(stretches),
            imports=imports,
        )

    def test_phases_are_sums_of_stretches_of_the_main_process(self):
        found = only(*(launch(n, processes=(self.process(n), self.process(9))) for n in (1, 2, 3)))
        assert {kind: one.point for kind, one in found.phases.items()} == {
            "start": 3.0,
            "script": 2.0,
            "exit": 0.0,
        }

    def test_small_imports_are_added_up(self):
        found = only(*(launch(n, processes=(self.process(n),)) for n in (1, 2, 3)))
        assert {name: one.point for name, one in found.imports.items()} == {
            "numpy": 2.0,
            "(other)": pytest.approx(300e-9),
        }


class TestStopping:
    def test_a_fixed_number_has_the_plain_interval(self):
        found = only(*(launch(n, [value]) for n, value in enumerate(jitter(12), 1)))
        assert found.stopped_by == "fixed"
        assert not found.series[0].first.after_stopping

    def test_a_rule_that_chose_the_number_is_told(self):
        launches = [launch(n, [value]) for n, value in enumerate(jitter(10), 1)]
        found = only(*launches, launches=None)
        assert found.stopped_by == "target"
        assert found.series[0].first.after_stopping

    def test_before_the_first_look_the_clock_chose_it(self):
        launches = [launch(n, [value]) for n, value in enumerate(jitter(8), 1)]
        found = only(*launches, launches=None)
        assert found.stopped_by == "budget"
        assert not found.series[0].first.after_stopping

    def test_the_session_knows_best(self):
        one = result(launch(1, [1.0]))
        (found,) = summary.summarise(one, stopped_by={"base": "interrupted"})
        assert found.stopped_by == "interrupted"

    def test_an_incomplete_result_was_interrupted(self):
        one = msgspec.structs.replace(result(launch(1, [1.0])), complete=False)
        assert summary.summarise(one)[0].stopped_by == "interrupted"


class TestOrderAndDrift:
    @staticmethod
    def pairs(n, second=1.0, effect=0.5, forward=None):
        forward = n // 2 if forward is None else forward
        noise = iter(jitter(2 * n, 0.005))
        for place in range(1, n + 1):
            ahead = place <= forward
            for arm, level in (("a", 1.0), ("b", effect)):
                position = int((arm == "b") is ahead)
                wall = level * (second if position else 1.0) * next(noise)
                yield launch(place, [wall], arm=arm, wall=wall, position=position)

    def test_the_effect_of_the_order_is_told_from_that_of_the_arm(self):
        found = summary.summarise(result(*self.pairs(12, second=0.8), arms=("a", "b")))[0]
        assert found.order_effect.point == pytest.approx(0.8, rel=0.02)
        assert [note.code for note in found.notes] == ["order"]

    def test_no_effect_is_no_note(self):
        found = summary.summarise(result(*self.pairs(12), arms=("a", "b")))[0]
        assert found.order_effect.low < 1 < found.order_effect.high
        assert found.notes == ()

    @pytest.mark.parametrize(("n", "forward"), [(5, 2), (6, 6), (10, 2)])
    def test_few_pairs_or_one_order_say_nothing(self, n, forward):
        found = result(*self.pairs(n, forward=forward), arms=("a", "b"))
        assert summary.order_effect(found) is None

    def test_a_drift_beyond_the_interval_is_a_note(self):
        values = [1 + 0.05 * n + noise / 100 for n, noise in enumerate(jitter(12))]
        found = only(*(launch(n, [value]) for n, value in enumerate(values, 1)))
        assert found.trend == pytest.approx(0.05, rel=0.02)
        assert [note.code for note in found.notes] == ["drift"]
        assert "longer" in found.notes[0].text

    def test_noise_is_no_drift(self):
        found = only(*(launch(n, [value]) for n, value in enumerate(jitter(12), 1)))
        assert found.notes == ()
        assert summary.trend(range(5), [1.0] * 5) is None

    def test_a_first_launch_that_differs_is_a_note(self):
        values = [3.0, *jitter(9)]
        found = only(*(launch(n, [value]) for n, value in enumerate(values, 1)))
        assert [note.code for note in found.notes] == ["first-launch"]
        assert found.series[0].first.outliers == 1
