"""Findings about devices: asynchronous timing, impossible rates, misplaced work."""

import pytest
from msgspec.structs import replace

from coldsoak.findings.cards import cpu_ceiling, peaks
from coldsoak.model.facts import Facts
from coldsoak.model.result import Arm

LOOP = """import time, torch
x = torch.rand(1000, 1000, device="cuda")
for run in range(10):
    start = time.time()
    for _ in range(10):
        y = x @ x
    print(time.time() - start)
"""


@pytest.fixture
def loop(make, works):
    """Return the program of the question, its clock stopping early or not."""

    def build(own_ms, tail_ms, **facts):
        maker = make(packages=("torch",), gpu=True, source=LOOP).region("r", (4, 7))
        for _ in range(3):
            maker.launch(r=[105, *[own_ms] * 9])
        seen = works("r", 10, tail_ms=tail_ms, **facts)
        return maker.launch("traced", r=[90, *[own_ms] * 9], facts=seen)

    return build


def test_the_launch_is_timed_and_not_the_work(loop):
    (found,) = loop(0.15, 0.39).find("async-timing")
    assert "runs 1 to 9 time the launch (150 µs); the work takes 540 µs" in found.text
    assert found.advice == (
        "torch.cuda.synchronize()  # before line 7:",
        "print(time.time() - start)",
    )
    assert (found.file, found.line) == ("demo.py", 7)


def test_a_synchronised_loop(loop):
    assert loop(0.55, 0.0).find("async-timing") == []


def test_a_tail_of_microseconds_is_two_clocks(loop):
    assert loop(0.05, 0.015).find("async-timing") == []


def test_waiting_shows_it_where_no_trace_does(make):
    maker = make(packages=("jax",))
    for _ in range(2):
        maker.launch(r=[80, *[0.2] * 9])
    maker.launch("synced", r=[80, *[0.2] * 9], tail_ms=40)
    (found,) = maker.find("async-timing")
    assert "the work takes 40.2 ms" in found.text


def test_the_cost_of_waiting_is_no_work(make):
    maker = make(packages=("jax",))
    for _ in range(2):
        maker.launch(r=[80, *[0.2] * 9])
    maker.launch("synced", r=[80, *[0.2] * 9], tail_ms=0.45)
    assert maker.find("async-timing") == []


def test_a_slow_synced_launch_is_no_evidence(make):
    maker = make(packages=("jax",))
    for _ in range(2):
        maker.launch(r=[80, *[30.0] * 9])
    maker.launch("synced", r=[160, *[90.0] * 9], tail_ms=0.3)
    assert maker.find("async-timing") == []


def test_more_than_the_card_can_do(loop):
    (found,) = loop(0.15, 0.39).find("impossible-rate")
    assert "133 TFLOP/s; the NVIDIA H200 in float32 does at most 66.9 TFLOP/s" in found.text
    assert "10 products of 1000 × 1000 × 1000 are 20.0 GFLOP" in found.evidence[0]
    assert found.confidence == "measured"


def test_what_the_card_can_do(loop):
    assert loop(0.55, 0.0).find("impossible-rate") == []


def test_tensor_cores_can_do_more(loop):
    assert loop(0.15, 0.0, name="sm90_xmma_gemm_f32f32_tf32f32").find("impossible-rate") == []


def test_a_trace_that_disagrees_with_the_source(loop):
    assert loop(0.15, 0.39, kernels=4).find("impossible-rate") == []


def test_more_than_any_cpu_can_do(make):
    text = LOOP.replace(', device="cuda"', "")
    maker = make(packages=("torch",), source=text).region("r", (4, 7))
    for _ in range(2):
        maker.launch(r=[105, *[0.5] * 9])
    (found,) = maker.find("impossible-rate")
    assert found.confidence == "likely"
    slow = make(packages=("torch",), source=text).region("r", (4, 7))
    assert slow.launch(r=[105, *[25.0] * 9]).find("impossible-rate") == []


def test_peaks_of_known_cards():
    assert peaks("9.0", 132, 1.98e9)["fp32"] == pytest.approx(66.9e12, rel=0.001)
    assert peaks("8.0", 108, 1.41e9)["tf32"] == pytest.approx(156e12, rel=0.01)
    assert peaks("9.9", 100, 1e9) == {}
    assert cpu_ceiling(1) > 3e11


TF = 'import tensorflow as tf\nwith tf.device("{name}"):\n    start = c()\n    f()\n    e = c() - start\n'


def named(make, name, *, gpu=False, case=True, packages=("tensorflow",)):
    maker = make(packages=packages, gpu=gpu, source=TF.format(name=name))
    maker.region("r", (3, 5), **({"device": repr(name)} if case else {}))
    for _ in range(2):
        maker.launch(r=[9, 1])
    return maker.find("device-not-there")


def test_xla_gpu_is_no_device_of_tensorflow_2(make):
    (found,) = named(make, "/device:XLA_GPU:0", gpu=True)
    assert "XLA_GPU:0 is no device of TensorFlow 2" in found.text
    assert found.confidence == "measured"


def test_a_name_in_the_source_alone_is_likely(make):
    (found,) = named(make, "/device:XLA_GPU:0", case=False)
    assert found.confidence == "likely"
    assert found.line == 2


def test_a_gpu_that_the_machine_has_not_got(make):
    (found,) = named(make, "/GPU:0")
    assert "There is no /GPU:0 here" in found.text


@pytest.mark.parametrize(("name", "gpu"), [("/GPU:0", True), ("/CPU:0", False)])
def test_devices_that_are_there(make, name, gpu):
    assert named(make, name, gpu=gpu) == []


def test_a_framework_that_raises_needs_no_finding(make):
    assert named(make, "cuda:0", packages=("torch",)) == []


def placed(make, works, device, kernels):
    maker = make(packages=("torch",), gpu=True).region("r", device=repr(device))
    maker.launch(r=[9, 1, 1])
    return maker.launch("traced", r=[9, 1, 1], facts=works("r", 3, kernels=kernels))


@pytest.mark.parametrize(
    ("device", "kernels", "wrong"),
    [
        ("cuda:0", 0, True),
        ("cuda:0", 4, False),
        ("cpu", 4, True),
        ("cpu", 0, False),
    ],
)
def test_work_on_the_other_device(make, works, device, kernels, wrong):
    found = placed(make, works, device, kernels).find("silent-placement")
    assert bool(found) is wrong


def test_a_card_that_nothing_ran_on(make, works):
    maker = make(packages=("torch",), gpu=True).launch(r=[9, 1])
    maker.launch("traced", r=[9, 1], facts=works("r", 2, kernels=0))
    (found,) = maker.find("gpu-idle")
    assert found.confidence == "likely"
    message = "Could not find cuda drivers on your machine, GPU will not be used."
    maker.launches[-1] = replace(
        maker.launches[-1], facts=Facts(device_seen=True, messages=(message,))
    )
    (found,) = maker.find("gpu-idle")
    assert found.evidence == (message,)


def test_a_card_that_was_hidden_or_used(make, works):
    maker = make(packages=("torch",), gpu=True).launch(r=[9, 1])
    maker.launch("traced", r=[9, 1], facts=works("r", 2, kernels=0))
    assert maker.find("gpu-idle", environment={"CUDA_VISIBLE_DEVICES": ""}) == []
    on_cpu = Arm(name="command", argv=("python", "demo.py", "--device=cpu"))
    assert maker.find("gpu-idle", arms=(on_cpu,)) == []
    used = make(packages=("torch",), gpu=True).launch(r=[9, 1])
    assert used.launch("traced", r=[9, 1], facts=works("r", 2)).find("gpu-idle") == []
    unseen = make(packages=("torch",), gpu=True).launch(r=[9, 1])
    assert unseen.launch("traced", r=[9, 1], facts=Facts()).find("gpu-idle") == []


def twice(make, *names):
    maker = make()
    for order, name in enumerate(names):
        maker.region(f"r{order}", order=order, device=repr(name))
    return maker.launch(**{f"r{i}": [9, 1] for i in range(len(names))}).find("same-device-twice")


def test_two_names_of_one_card(make):
    (found,) = twice(make, "/device:GPU:0", "/device:XLA_GPU:0")
    assert found.advice == ("Use GPU:0 and leave the other out.",)
    assert twice(make, "cuda", "cuda:0")


def test_two_devices_are_not_one_twice(make):
    assert twice(make, "/device:CPU:0", "/device:GPU:0") == []
    assert twice(make, "cuda:0", "cuda:1") == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('with tf.device("/GPU:0"):\n    f()\n', True),
        ('if tf.config.list_physical_devices("GPU"):\n    measure("/GPU:0")\n', False),
        ('if found:\n    with tf.device("/GPU:0"):\n        f()\n', False),
        ('devices = ["/CPU:0"] + (["/GPU:0"] if found else [])\n', False),
        ('names = ["/device:XLA_GPU:0"]\n', True),
    ],
)
def test_names_that_may_never_be_used(make, text, wrong):
    maker = make(packages=("tensorflow",), source=text)
    maker.launch(r=[9, 1]).launch(r=[9, 1])
    assert bool(maker.find("device-not-there")) is wrong
