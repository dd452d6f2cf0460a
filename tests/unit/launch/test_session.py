"""Whole sessions without a process: a recorded executor and a clock that the launches move."""

import shutil
from collections import Counter

import pytest
from msgspec.structs import replace

from coldsoak.errors import CommandFailed, NothingMeasured, UsageError
from coldsoak.launch.request import LaunchInterrupted, RecordedExecutor
from coldsoak.launch.session import measure
from coldsoak.launch.store import Store
from coldsoak.model.ledger import Ledger
from coldsoak.model.result import (
    Arm,
    Case,
    Conditions,
    Device,
    Execution,
    Launch,
    Machine,
    Note,
    Options,
    Series,
)

SERIES = (Series(id="s", kind="clock", label="work"),)


def good(seconds=1.0, **fields):
    """A launch whose first run takes ``seconds`` of its two."""
    run = Execution(
        series="s",
        run=0,
        pid=1,
        thread=1,
        start_ns=0,
        end_ns=int(seconds * 1e9),
        seconds=seconds,
    )
    return Launch(
        index=-1,
        round=-1,
        arm="",
        kind="timed",
        wall_ns=int(2e9),
        executions=(run,),
        **fields,
    )


def failed(**fields):
    values = {"status": "failed", "exit_code": 3, "invalid": "exit status 3", "tail": ("oh no",)}
    return good(**values | fields)


def steady():
    while True:
        yield good()


def noisy():
    number = 0
    while True:
        number += 1
        yield good(1.0 + 0.5 * (number % 4))


def case_of(name):
    """The case of an arm that is called by its framework and its shape."""
    return Case(workload="matmul", framework=name.split()[0], device="cpu")


class Bench:
    """Runs sessions on recorded launches; each launch takes ``cost`` seconds."""

    def __init__(self, home):
        self.store = Store(home)
        self.now = 0.0

    def __call__(self, recorded, *arms, cost=2.0, kind="run", known=SERIES, cases=False, **rest):
        def spend(request):
            self.now += cost(request) if callable(cost) else cost

        fields = {"trace": False, "budget_s": 1e9}
        names = {name: rest.pop(name) for name in list(rest) if name in Options.__struct_fields__}
        self.executor = RecordedExecutor(recorded, known=known, on_launch=spend)
        return measure(
            [
                Arm(name=name, argv=(name,), case=case_of(name) if cases else None)
                for name in arms or ("a",)
            ],
            Options(**fields | names),
            kind=kind,
            command=("a",),
            store=self.store,
            executor=self.executor,
            clock=lambda: self.now,
            **rest,
        )

    @property
    def order(self):
        return [(r.round, r.kind, r.arm.name) for r in self.executor.requests]


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    return Bench(tmp_path)


def test_a_narrow_interval_stops_at_the_first_look(session):
    result = session(steady())
    assert session.order == [(n, "timed", "a") for n in range(11)]
    assert result.complete
    assert (result.summaries[0].n, result.summaries[0].discarded) == (10, 1)
    assert result.summaries[0].stopped_by == "target"
    assert session.store.load("last") == result


def test_a_wide_interval_goes_on_to_the_last_look(session):
    result = session(noisy())
    assert result.summaries[0].n == 40
    assert result.summaries[0].stopped_by == "maximum"


def test_a_wider_target_is_met_sooner(session):
    assert session(noisy(), target=0.8).summaries[0].n == 10


def test_the_budget_ends_it(session):
    result = session(noisy(), budget_s=20.0, cost=2.0)
    assert result.summaries[0].stopped_by == "budget"
    assert len(result.launches) == 10
    assert session.now <= 20.0


def frameworks(request):
    """Seconds of a launch of the arms below: the heavy one takes ten times as long."""
    return 10.0 if request.arm.name.startswith("heavy") else 1.0


ARMS = ("heavy 100", "light 100", "heavy 1000", "light 1000")


def test_a_bench_keeps_the_budget_and_says_what_it_left_out(session):
    result = session(
        steady(), *ARMS, kind="bench", trace=True, budget_s=28.0, cost=frameworks, cases=True
    )
    assert (
        session.order[:4]
        == [
            (0, "timed", "heavy 100"),
            (0, "timed", "light 100"),
            (0, "timed", "light 1000"),  # heavy 1000 would take what the others are still to have
            *session.order[3:4],
        ]
    )
    assert session.now <= 28.0
    assert {arm.name for arm in result.arms} == {"heavy 100", "light 100", "light 1000"}
    assert all(summary.n >= 1 for summary in result.summaries)
    texts = {note.code: note.text for note in result.notes}
    assert texts["arms_left_out"] == "no time was left for heavy 1000"
    assert "causes in heavy 100; --budget 80 " in texts["causes_left_out"]
    traced = {launch.arm for launch in result.launches if launch.kind == "traced"}
    assert traced == {"light 100", "light 1000"}


def test_a_bench_with_room_leaves_nothing_out(session):
    result = session(
        steady(), *ARMS, kind="bench", trace=True, budget_s=500.0, cost=frameworks, cases=True
    )
    assert len(result.arms) == 4
    assert result.notes == ()
    assert session.now <= 500.0


def test_a_bench_that_becomes_slow_stops_in_the_middle_of_its_first_round(session):
    def slower(request):
        return 1.0 if request.round == 0 else 30.0

    result = session(steady(), *"abcd", kind="bench", budget_s=20.0, cost=slower)
    assert [order[0] for order in session.order] == [0, 0, 0, 0, 1]
    assert sorted(summary.n for summary in result.summaries) == [0, 0, 0, 1]
    assert result.notes[0].code == "arms_left_out"
    assert result.complete


def test_a_row_whose_only_launch_does_not_count_is_named(session):
    def last_one_spoilt():
        while True:
            yield good(invalid="the GPU was throttled" if session.now > 8.0 else "")

    result = session(last_one_spoilt(), *"abc", kind="bench", budget_s=8.0, cost=1.5)
    (missing,) = (one.arm for one in result.summaries if one.n == 0)
    assert missing == session.executor.requests[-1].arm.name
    assert [note.text for note in result.notes] == [
        f"no time was left for {missing}; --budget 20 should have room for all"
    ]


def test_an_invalid_launch_is_not_replaced_when_the_time_is_spent(session):
    busy = good(invalid="other programs used 70 % of the CPU")
    result = session(
        [good(), good(), busy, good()],
        budget_s=6.5,
        cost=lambda one: 4.0 if one.index == 2 else 2.0,
    )
    assert len(result.launches) == 3
    assert result.summaries[0].n == 1


def test_a_fixed_number_ignores_the_budget(session):
    result = session(noisy(), launches=3, budget_s=1.0)
    assert result.summaries[0].n == 3
    assert result.summaries[0].stopped_by == "fixed"


def test_at_least_one_timed_and_one_traced_whatever_the_budget(session):
    result = session(steady(), trace=True, budget_s=1.0, cost=90.0)
    assert session.order == [(0, "timed", "a"), (1, "timed", "a"), (1, "traced", "a")]
    assert result.summaries[0].stopped_by == "budget"


def test_looking_closer_takes_a_third_and_is_interleaved(session):
    session(noisy(), trace=True, synced=True, budget_s=60.0, cost=2.0)
    kinds = [kind for _, kind, _ in session.order]
    assert kinds[:9] == [
        *("timed", "timed", "traced", "timed", "synced"),
        *("timed", "traced", "timed", "synced"),
    ]
    assert Counter(kinds) == {"timed": 25, "traced": 3, "synced": 2}
    assert session.now <= 60.0


def test_dear_tracing_is_cut_to_its_share(session):
    def cost(request):
        return 12.0 if request.kind == "traced" else 2.0

    session(noisy(), trace=True, budget_s=60.0, cost=cost)
    kinds = Counter(kind for _, kind, _ in session.order)
    assert kinds["traced"] == 1
    assert session.now <= 60.0


def test_what_is_reserved_for_looking_closer_is_used_for_it(session):
    """The budget ends the timed rounds after two; the third traced launch was paid for."""

    def cost(request):
        return 20.0 if request.kind == "timed" else 5.0

    session(noisy(), trace=True, budget_s=75.0, cost=cost)
    assert [kind for _, kind, _ in session.order] == [
        *("timed", "timed", "traced", "timed", "traced", "traced")
    ]
    assert session.now == 75.0


def test_extras_of_a_fixed_number(session):
    session(steady(), trace=True, synced=True, launches=1)
    assert Counter(kind for _, kind, _ in session.order) == {"timed": 2, "traced": 1, "synced": 1}
    session(steady(), trace=True, launches=10)
    assert Counter(kind for _, kind, _ in session.order) == {"timed": 11, "traced": 3}


def test_synced_launches_where_there_is_a_gpu(session):
    machine = Machine(devices=(Device(kind="gpu", name="card"),))
    session(steady(), machine=machine)
    assert Counter(kind for _, kind, _ in session.order)["synced"] == 2


def test_each_round_is_a_permutation_drawn_from_the_seed(session):
    def orders(seed):
        session(steady(), "a", "b", "c", launches=6, seed=seed)
        names = [name for _, _, name in session.order]
        return [tuple(names[n : n + 3]) for n in range(0, len(names), 3)]

    first = orders(7)
    assert all(sorted(one) == ["a", "b", "c"] for one in first)
    assert len(set(first)) > 1
    assert orders(7) == first
    assert orders(8) != first


def test_positions_are_stored(session):
    result = session(steady(), "a", "b", launches=2)
    assert [launch.position for launch in result.launches] == [0, 1] * 3


def test_pairs_are_looked_at_from_twelve(session):
    result = session(steady(), "base", "better", kind="fix")
    assert [summary.n for summary in result.summaries] == [12, 12]


def test_pairs_decide_by_their_ratio(session):
    """Both arms vary by a half, but together: the ratio is known at the first look."""
    walls = iter(1.0 + 0.5 * (n // 2 % 4) for n in range(1000))
    result = session((good(next(walls)) for _ in range(1000)), "base", "better", kind="fix")
    assert result.summaries[0].n == 12


def test_arms_of_a_bench_must_all_be_narrow(session):
    def launches():
        number = 0
        while True:
            request = session.executor.requests[-1]
            number += 1
            yield good() if request.arm.name == "calm" else good(1.0 + number % 5)

    result = session(launches(), "calm", "wild", kind="bench")
    assert [summary.n for summary in result.summaries] == [40, 40]


def test_without_regions_the_wall_time_decides(session):
    def launches():
        while True:
            yield Launch(index=0, round=0, arm="", kind="timed", wall_ns=10**9)

    assert session(launches(), known=()).summaries[0].n == 10


def test_an_invalid_launch_is_replaced_in_its_round(session):
    one_bad = [good(), good(), good(invalid="the GPU was throttled: x"), *[good()] * 20]
    result = session(one_bad)
    assert [n for n, _, _ in session.order[:5]] == [0, 1, 2, 2, 3]
    assert (result.summaries[0].n, result.summaries[0].invalid) == (10, 1)


def test_too_many_invalid_launches_stop_the_session(session):
    bad = good(invalid="the cgroup was throttled in 50 % of its periods")
    with pytest.raises(NothingMeasured) as caught:
        session([good(), *[bad] * 20])
    assert "throttled" in caught.value.why
    result = session.store.load("last")
    assert len(result.launches) == 4
    assert not result.complete
    assert result.summaries[0].stopped_by == "failure"
    assert result.notes[0].code == "too_many_invalid"


def test_a_fifth_may_be_replaced(session):
    launches = [good()]
    for _ in range(8):
        launches += [good(), good(), good(), good(), failed()]
    result = session([*launches, *[good()] * 9], launches=36)
    assert result.complete
    assert result.summaries[0].n == 36


def test_what_was_measured_is_kept_when_it_stops(session):
    result = session([good(), good(), good(), *[failed()] * 9])
    assert not result.complete
    assert result.summaries[0].n == 2
    assert result.summaries[0].stopped_by == "failure"


def test_a_machine_that_is_always_busy_is_measured_with_a_note(session):
    busy = good(invalid="other programs used 90 % of the CPU time")
    result = session([busy] * 30)
    assert result.complete
    assert (result.summaries[0].n, result.summaries[0].invalid) == (10, 0)
    assert result.launches[-1].notes[0].code == "machine_busy"


def test_a_machine_that_becomes_busy_is_measured_when_waiting_does_not_help(session):
    busy = good(invalid="other programs used 90 % of the CPU time")
    result = session([good(), *[busy] * 30])
    assert result.complete
    assert (result.summaries[0].n, result.summaries[0].invalid) == (10, 3)
    assert result.launches[-1].notes[0].code == "machine_busy"


def test_a_command_that_always_fails_is_launched_once(session):
    with pytest.raises(CommandFailed) as caught:
        session([failed()])
    assert caught.value.what == "a failed in launch 0: exit status 3."
    assert caught.value.why == "oh no"
    assert caught.value.do == "coldsoak run --ignore-failure measures it all the same"
    result = session.store.load("last")
    assert len(result.launches) == 1
    assert result.summaries[0].stopped_by == "failure"


@pytest.mark.parametrize(
    ("words", "todo"),
    [
        (
            "{{node a}} was explicitly assigned to /device:XLA_GPU:0 but available devices are [",
            "coldsoak explain device-not-there",
        ),
        (
            "Could not satisfy device specification '/job:localhost/device:GPU:0'.",
            "coldsoak explain device-not-there",
        ),
        ("AssertionError: Torch not compiled with CUDA enabled", "coldsoak devices"),
        ("AttributeError: module 'tensorflow' has no attribute 'Session'", "coldsoak run --tf1 "),
        ("KeyError: 'device'", "coldsoak run --ignore-failure "),
    ],
)
def test_a_known_failure_is_explained(session, words, todo):
    with pytest.raises(CommandFailed) as caught:
        session([failed(tail=(words,), log="logs/000.log")])
    assert caught.value.do.startswith(todo)
    first, second = caught.value.why.splitlines()
    assert first == words
    assert second.startswith("The whole output is in ")
    assert second.endswith("/logs/000.log.")


def test_a_disk_that_is_full_is_named_before_the_program(session, monkeypatch):
    usage = shutil.disk_usage(session.store.home)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(CommandFailed) as caught:
        session([failed()])
    assert caught.value.do.startswith("make room: the disk of ")


def test_a_timeout_says_what_to_type(session):
    late = good(status="timeout", invalid="it had not ended after 600 s")
    with pytest.raises(CommandFailed) as caught:
        session([late])
    assert "--until" in caught.value.do


def test_failure_can_be_ignored(session):
    result = session((failed() for _ in range(100)), ignore_failure=True, launches=2)
    assert result.complete
    assert result.summaries[0].n == 2
    assert result.launches[0].exit_code == 3
    assert result.launches[0].notes[0].code == "failure_ignored"


def test_ignoring_failure_does_not_ignore_a_kill(session):
    killed = good(status="killed", signal=9, invalid="killed by SIGKILL")
    with pytest.raises(CommandFailed):
        session([killed], ignore_failure=True)


def test_an_arm_that_cannot_work_is_left_out(session):
    def launches():
        while True:
            request = session.executor.requests[-1]
            yield failed() if request.arm.name == "broken" else good()

    result = session(launches(), "broken", "fine", kind="bench", launches=2)
    assert result.complete
    assert [note.code for note in result.notes] == ["arm_failed"]
    assert [summary.n for summary in result.summaries] == [0, 2]


def test_a_baseline_that_fails_ends_a_fix(session):
    def launches():
        while True:
            request = session.executor.requests[-1]
            yield failed() if request.arm.name == "base" else good()

    with pytest.raises(CommandFailed):
        session(launches(), "base", "better", kind="fix")


def test_a_failed_trace_costs_nothing_but_itself(session):
    def launches():
        while True:
            traced = session.executor.requests[-1].kind == "traced"
            yield failed() if traced else good()

    result = session(launches(), trace=True)
    assert result.complete
    assert result.summaries[0].n == 10
    assert [note.code for note in result.notes] == ["traced_invalid"] * 3


@pytest.mark.parametrize("after", [0, 1, 5])
def test_ctrl_c_keeps_what_was_measured(session, after):
    half = good(status="interrupted")
    result = session([*[good()] * after, LaunchInterrupted(half)])
    assert not result.complete
    assert len(result.launches) == after + 1
    assert result.launches[-1].status == "interrupted"
    assert (result.summaries[0].invalid, result.summaries[0].failed) == (0, 0)
    assert result.summaries[0].stopped_by == "interrupted"
    assert session.store.load("last") == result


def test_ctrl_c_between_launches(session):
    result = session([good(), good(), KeyboardInterrupt()])
    assert not result.complete
    assert len(result.launches) == 2


def test_the_result_is_saved_after_every_launch(session):
    seen = []

    class Watch:
        def begin(self, result):
            seen.append(len(session.store.load("last").launches))

        def launching(self, request, *, done, expected, remaining_s):
            assert done == request.index
            assert expected > done
            assert remaining_s >= 0

        def launched(self, launch):
            saved = session.store.load("last")
            assert not saved.complete
            seen.append(len(saved.launches))

        def waiting(self, why):
            raise AssertionError

        def end(self, result):
            assert session.store.load("last") == result
            seen.append("end")

    session(steady(), launches=3, progress=Watch())
    assert seen == [0, 1, 2, 3, 4, "end"]


def test_cards_cool_down_between_launches(session):
    waits = []
    warm = good(conditions=Conditions(gpu=({"uuid": "x"},)))

    def cool_down():
        waits.append(len(session.executor.requests))
        return 0.0

    session([warm] * 20, launches=2, cool_down=cool_down)
    assert waits == [1, 2]
    session([good()] * 20, launches=2, cool_down=cool_down)
    assert waits == [1, 2]


def test_ledgers_are_made_at_the_end(session):
    ledger = Ledger(scope="launch", arm="a", launch=0, start_ns=0, end_ns=1, total_ns=1)

    def attribute(result, folder):
        assert folder == session.store.folder(result.id)
        assert result.summaries
        return replace(result, ledgers=(ledger,))

    result = session(steady(), launches=1, attribute=attribute)
    assert session.store.load("last").ledgers == (ledger,)
    assert result.complete


def test_secrets_stay_out_of_the_file(session, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    result = session(steady(), launches=1)
    assert "hf_verysecret" not in session.store.find(result.id).read_text()
    assert result.environment["HF_TOKEN"] == "<redacted>"


def test_an_error_in_the_middle_keeps_what_was_measured(session):
    with pytest.raises(UsageError):
        session([good(), good(), good(), UsageError("the cold state cannot be made")])
    result = session.store.load("last")
    assert not result.complete
    assert (result.summaries[0].n, result.summaries[0].stopped_by) == (2, "failure")


def test_what_the_executor_refuses_leaves_no_result(session):
    class Refusing(RecordedExecutor):
        def check(self, arms, options):
            raise UsageError("no")

    with pytest.raises(UsageError):
        measure(
            [Arm(name="a", argv=("a",))],
            Options(),
            kind="run",
            command=("a",),
            store=session.store,
            executor=Refusing([]),
        )
    assert session.store.identifiers() == []


def test_series_come_from_the_executor(session):
    assert session(steady(), launches=1).series == SERIES


def test_notes_are_told_once(session):
    result = session([good(notes=(Note(code="x", text="y"),))] * 9, launches=1)
    assert result.launches[1].notes == (Note(code="x", text="y"),)
