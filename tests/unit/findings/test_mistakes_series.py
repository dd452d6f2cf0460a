"""Findings that are read from the times of runs: each fires on its victim and not on a clean loop."""

import random

import pytest

from coldsoak.findings.patterns import device_of, period_of

CODES = (
    "async-timing",
    "no-steady-state",
    "per-shape-first-run",
    "per-thread-first-run",
    "periodic",
    "queue-filling",
    "second-run-slow-too",
    "slow-after-idle",
    "warm-up-too-short",
)


def steady(seed, first=200.0, later=5.0, runs=40):
    noise = random.Random(seed)
    return [first, *(later * noise.lognormvariate(0, 0.03) for _ in range(runs))]


@pytest.mark.parametrize("code", CODES)
def test_a_steady_loop_has_none(make, code):
    maker = make(packages=("torch",))
    for seed in range(4):
        maker.launch(r=steady(seed))
    assert maker.find(code) == []


@pytest.mark.parametrize("code", CODES)
def test_one_launch_is_no_evidence(make, code):
    maker = make(packages=("jax",)).launch(r=[200, 90, *[1.0] * 10, *[9.0] * 20])
    assert maker.find(code) == []


def test_every_third_run_is_slow(make):
    maker = make()
    for seed in range(3):
        noise = random.Random(seed)
        runs = [201 + noise.random() if i % 3 == 0 else noise.random() for i in range(1, 25)]
        maker.launch(r=[258, *runs])
    (found,) = maker.find("periodic")
    assert "every third run" in found.text
    assert maker.find("second-run-slow-too") == []


def test_spikes_without_order_are_no_period(make):
    maker = make()
    for seed in range(3):
        noise = random.Random(seed)
        maker.launch(r=[258, *(9.0 if noise.random() < 0.3 else 1.0 for _ in range(40))])
    assert maker.find("periodic") == []


def test_a_period_needs_four_repetitions():
    assert period_of([9, *[0.001, 0.001, 0.005] * 3]) is None
    assert period_of([9, *[0.001, 0.001, 0.005] * 4]) == 3


def test_second_run_is_slow_too(make):
    maker = make()
    for _ in range(3):
        maker.launch(r=[400, 120, 2.0, 2.1, 1.9, 2.0])
    (found,) = maker.find("second-run-slow-too")
    assert "120 ms" in found.text
    assert found.advice == ("Leave out the first 2 runs.",)


def test_a_second_run_slow_by_microseconds_is_none(make):
    maker = make()
    for _ in range(3):
        maker.launch(r=[4, 0.12, 0.02, 0.02, 0.02, 0.02])
    assert maker.find("second-run-slow-too") == []


def test_warm_up_of_twelve_runs(make):
    maker = make()
    for seed in range(4):
        maker.launch(r=[300, *[20.0] * 11, *steady(seed, 5.0, 5.0, 40)])
    (found,) = maker.find("warm-up-too-short")
    assert "from run 12 on" in found.text


def test_runs_that_never_settle(make):
    maker = make()
    for seed in range(4):
        noise = random.Random(seed)
        maker.launch(r=[300, *((5 + i) * noise.lognormvariate(0, 0.01) for i in range(60))])
    (found,) = maker.find("no-steady-state")
    assert found.confidence == "likely"


def test_a_launch_that_was_cut_short_does_not_hide_the_others(make):
    maker = make()
    for seed in range(9):
        noise = random.Random(seed)
        maker.launch(r=[300, *((5 + i) * noise.lognormvariate(0, 0.01) for i in range(60))])
    maker.launch(r=[300, 5.0])
    (found,) = maker.find("no-steady-state")
    assert found.code == "no-steady-state"


def test_a_busy_machine_excuses_runs_that_never_settle(make):
    maker = make(cpu=0.6)
    for _ in range(4):
        maker.launch(r=[300, *(5.0 + i for i in range(60))])
    assert maker.find("no-steady-state") == []


def test_a_queue_that_fills_up(make):
    maker = make(packages=("jax",))
    for _ in range(3):
        maker.launch(r=[80, *[0.2] * 9, *[9.0] * 20])
    (found,) = maker.find("queue-filling")
    assert found.confidence == "likely"
    assert found.severity == "mistake"


def test_a_step_without_a_queue_is_none(make):
    maker = make(packages=("numpy",))
    for _ in range(3):
        maker.launch(r=[80, *[0.2] * 9, *[9.0] * 20])
    assert maker.find("queue-filling") == []


def test_slow_after_pauses(make):
    maker = make()
    gaps = [0.0, 0.0, 0.0, 2.0] * 4
    for _ in range(3):
        maker.launch(r=[50, *(20.0 if gaps[i] else 4.0 for i in range(1, 16))], gaps=gaps)
    (found,) = maker.find("slow-after-idle")
    assert "20.0 ms instead of 4.00 ms" in found.text


def test_pauses_that_do_no_harm(make):
    maker = make()
    for _ in range(3):
        maker.launch(r=[50, *[4.0] * 15], gaps=[0.0, 0.0, 0.0, 2.0] * 4)
    assert maker.find("slow-after-idle") == []


def test_each_shape_pays_again(make):
    maker = make()
    for order, size in enumerate((100, 500, 1000)):
        maker.region(f"s{size}", order=order, shape=f"({size}, {size})")
    for _ in range(3):
        maker.launch(s100=[900, 1, 1], s500=[80, 2, 2], s1000=[160, 3, 3])
    (found,) = maker.find("per-shape-first-run")
    assert "shape=(1000, 1000)" in found.text
    assert "2 new shapes cost 235 ms together" in found.text


def test_shapes_that_cost_nothing(make):
    maker = make()
    for order, size in enumerate((100, 500, 1000)):
        maker.region(f"s{size}", order=order, shape=f"({size}, {size})")
    for _ in range(3):
        maker.launch(s100=[900, 1, 1], s500=[2.2, 2, 2], s1000=[3.1, 3, 3])
    assert maker.find("per-shape-first-run") == []


def test_a_first_run_per_device_is_not_one_per_shape(make):
    maker = make().region("a", device="'/CPU:0'").region("b", order=1, device="'/GPU:0'")
    for _ in range(3):
        maker.launch(a=[100, 1, 1], b=[400, 2, 2])
    assert maker.find("per-shape-first-run") == []


def test_each_thread_pays_again(make):
    maker = make()
    threads = [1, 1, 2, 2, 3, 3, 4, 4]
    for _ in range(3):
        maker.launch(r=[400, 2, 90, 2, 91, 2, 92, 2], threads=threads)
    (found,) = maker.find("per-thread-first-run")
    assert "3 further threads" in found.text


def test_threads_that_find_all_warm(make):
    maker = make()
    for _ in range(3):
        maker.launch(r=[400, 2, 2, 2, 2, 2, 2, 2], threads=[1, 1, 2, 2, 3, 3, 4, 4])
    assert maker.find("per-thread-first-run") == []


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("'/device:XLA_GPU:0'", ("gpu", 0)),
        ("GPU:1", ("gpu", 1)),
        ("'cuda'", ("gpu", 0)),
        ("CudaDevice(id=2)", ("gpu", 2)),
        ("device(type='cpu')", ("cpu", 0)),
        ("'cpu'", ("cpu", 0)),
        ("(50, 50)", None),
        ("'gpu_name'", None),
    ],
)
def test_devices_in_any_spelling(text, device):
    assert device_of(text) == device
