"""Arms from workloads, frameworks, devices and shapes; comparison of what they computed."""

import json
import sys

import pytest

from coldsoak import plans
from coldsoak.errors import UsageError
from coldsoak.machine.devices import Framework, Seen, Survey
from coldsoak.machine.nvml import Card, Cards
from coldsoak.model.result import Arm, Case, Launch, Result

NO_CARDS = Cards(reason="No NVIDIA driver answers.")


@pytest.fixture(autouse=True)
def without_a_card(monkeypatch):
    monkeypatch.setattr(plans.nvml, "read", lambda: NO_CARDS)
    monkeypatch.setattr(plans.backends, "installed", lambda: ("torch", "jax", "numpy"))


def request_of(arm):
    return json.loads(arm.argv[-1])


def test_one_arm_for_each_framework_and_shape():
    plan = plans.plan("matmul", shapes=("50", "100"))
    assert [arm.name for arm in plan.arms] == [
        "torch eager cpu 50",
        "jax jit cpu 50",
        "numpy eager cpu 50",
        "torch eager cpu 100",
        "jax jit cpu 100",
        "numpy eager cpu 100",
    ]
    assert plan.arms[0].argv[:2] == (sys.executable, str(plans.WORKER))
    assert plan.arms[0].case == Case(
        workload="matmul",
        framework="torch",
        device="cpu",
        compiler="eager",
        shape={"n": 50},
        inner=10,
        flops=10 * 2 * 50**3,
        bytes_moved=10 * 2 * 50**2 * 4,
    )
    assert request_of(plan.arms[0])["shapes"] == [{"n": 50}]


def test_frameworks_that_are_missing_are_noted_with_what_brings_them():
    notes = {note.text.split()[0]: note.text for note in plans.plan().notes}
    assert set(notes) == {"tensorflow", "cupy", "onnxruntime"}
    assert "pip install" in notes["tensorflow"]
    assert plans.plan(frameworks=("numpy",)).notes == ()


def test_modes_go_to_the_frameworks_that_have_them():
    plan = plans.plan(compilers=("compile", "eager", "xla"), shapes=("8",))
    assert [arm.name for arm in plan.arms] == [
        "torch compile cpu 8",
        "torch eager cpu 8",
        "jax eager cpu 8",
        "numpy eager cpu 8",
    ]


@pytest.mark.parametrize(
    ("frameworks", "mode", "what"),
    [
        (("torch", "numpy"), "warp", "torch and numpy have no mode warp."),
        (("numpy",), "xla", "numpy has no mode xla."),
    ],
)
def test_a_mode_that_is_not_there_is_told_with_those_that_are(frameworks, mode, what):
    with pytest.raises(UsageError) as caught:
        plans.plan(frameworks=frameworks, compilers=(mode,), shapes=("8",))
    assert caught.value.what == what
    assert "numpy: eager" in caught.value.why
    assert caught.value.do == f"--mode {'compile' if frameworks[0] == 'torch' else 'eager'}"


def test_a_gpu_that_nobody_sees_is_refused_before_anything_is_launched(monkeypatch):
    monkeypatch.setattr(plans.nvml, "read", lambda: Cards(reason="No driver answers."))
    seen = tuple(
        Framework(name=name, state="ok", seconds=1.0, devices=(Seen(name="cpu", kind="cpu"),))
        for name in ("torch", "jax")
    )
    answer = Survey(
        cpu="", cores=1, cores_usable=1.0, memory_bytes=1, cards=NO_CARDS, frameworks=seen
    )
    monkeypatch.setattr(plans.machine_devices, "survey", lambda names, *, python: answer)
    with pytest.raises(UsageError) as caught:
        plans.plan(frameworks=("torch", "jax"), devices=("gpu:0",), shapes=("8",))
    assert caught.value.what == "torch and jax see no GPU."
    assert caught.value.why == "No driver answers."


def test_no_shape_at_all_is_refused():
    with pytest.raises(UsageError, match="No shape"):
        plans.plan(frameworks=("numpy",), shapes=())


def test_devices_of_any_spelling_get_one_name():
    plan = plans.plan(frameworks=("torch",), devices=("/GPU:0", "cuda:1", "CPU"), shapes=("8",))
    assert [arm.case.device for arm in plan.arms] == ["gpu:0", "gpu:1", "cpu"]


def test_devices_that_a_framework_never_has_are_not_asked_of_it():
    plan = plans.plan(frameworks=("numpy", "cupy"), devices=("gpu", "cpu"), shapes=("8",))
    assert [arm.name for arm in plan.arms] == ["numpy eager cpu 8", "cupy eager gpu:0 8"]
    with pytest.raises(UsageError):
        plans.plan(frameworks=("cupy",))


def test_with_a_card_each_framework_gets_the_devices_that_it_sees(monkeypatch):
    monkeypatch.setattr(plans.nvml, "read", lambda: Cards(cards=(Card(index=0),)))
    cpu, gpu = Seen(name="cpu", kind="cpu"), Seen(name="cuda:0", kind="gpu")
    answers = {"torch": (cpu, gpu), "numpy": (cpu,)}

    def survey(names, *, python):
        return Survey(
            cpu="",
            cores=1,
            cores_usable=1.0,
            memory_bytes=1,
            cards=NO_CARDS,
            frameworks=tuple(
                Framework(name=name, state="ok", seconds=1.0, devices=answers[name])
                if name in answers
                else Framework(name=name, state="failed", seconds=1.0, error="no libcudart")
                for name in names
            ),
        )

    monkeypatch.setattr(plans.machine_devices, "survey", survey)
    plan = plans.plan(shapes=("8",))
    places = {(arm.case.framework, arm.case.device) for arm in plan.arms}
    assert places == {("torch", "gpu:0"), ("torch", "cpu"), ("numpy", "cpu")}
    assert plan.notes[0].text == "jax is left out: no libcudart"
    with pytest.raises(UsageError) as caught:
        plans.plan(frameworks=("jax",))
    assert "no libcudart" in caught.value.why


def test_warm_shapes_share_one_process():
    (arm,) = plans.plan(frameworks=("numpy",), shapes=("8", "9"), warm_shapes=True).arms
    assert request_of(arm)["shapes"] == [{"n": 8}, {"n": 9}]
    assert arm.name == "numpy eager cpu 8+9"
    assert arm.case.shape == {}
    assert arm.case.flops == 0.0


def test_options_reach_the_worker():
    (arm,) = plans.plan(
        frameworks=("numpy",), shapes=("8",), runs=7, inner=3, dtype="float64", naive=True
    ).arms
    asked = request_of(arm)
    assert (asked["runs"], asked["inner"], asked["dtype"], asked["naive"]) == (
        7,
        3,
        "float64",
        True,
    )
    assert arm.case.flops == 3 * 2 * 8**3


@pytest.mark.parametrize(
    "wrong",
    [
        {"workload": "sort"},
        {"frameworks": ("theano",)},
        {"shapes": ("abc",)},
        {"compilers": ("warp",)},
        {"dtype": "int3"},
    ],
)
def test_what_does_not_exist_is_refused(wrong):
    with pytest.raises(UsageError) as caught:
        plans.plan(**wrong)
    assert caught.value.do


def test_frameworks_without_the_dtype_are_left_out():
    plan = plans.plan(dtype="bfloat16", shapes=("8",))
    assert {arm.case.framework for arm in plan.arms} == {"torch", "jax"}
    with pytest.raises(UsageError) as caught:
        plans.plan(frameworks=("numpy",), dtype="bfloat16")
    assert "float32" in caught.value.do


def test_many_arms_share_the_time_of_a_round():
    few = plans.plan(frameworks=("numpy",), shapes=("8",))
    many = plans.plan(frameworks=("numpy",), shapes=tuple(map(str, range(1, 11))))
    assert request_of(few.arms[0])["steady_s"] == 5.0
    assert request_of(many.arms[0])["steady_s"] == 2.0


def test_no_framework_at_all_says_what_to_install(monkeypatch):
    monkeypatch.setattr(plans.backends, "installed", lambda: ())
    with pytest.raises(UsageError) as caught:
        plans.plan()
    assert "pip install" in caught.value.do


def test_another_interpreter_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="cannot be run"):
        plans.plan(python="/no/such/python")


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("1000", ("1000",)),
        ("50,100, 500", ("50", "100", "500")),
        ("size=56,batch=4", ("size=56,batch=4",)),
        ("size=56,batch=4; size=112", ("size=56,batch=4", "size=112")),
    ],
)
def test_shapes_of_the_command_line(text, shapes):
    assert plans.split_shapes(text) == shapes


def test_names_may_be_joined_by_commas():
    plan = plans.plan(frameworks=("torch, jax",), compilers=("eager,jit",), shapes=("8",))
    assert [arm.name for arm in plan.arms] == [
        "torch eager cpu 8",
        "jax eager cpu 8",
        "jax jit cpu 8",
    ]


def outputs(rms):
    return {"mean": 1.0, "rms": rms, "first": 0.0, "edge": 0.0, "last": 0.0}


def bench(*computed, n=10):
    """Return a result with one arm for each (framework, data)."""
    arms = tuple(
        Arm(
            name=name,
            argv=("x",),
            case=Case(workload="matmul", framework=name, device="cpu", shape={"n": n}),
        )
        for name, _ in computed
    )
    launches = tuple(
        Launch(index=i, round=1, arm=name, kind="timed", data=data)
        for i, (name, data) in enumerate(computed)
    )
    return Result(version="0", id="x", kind="bench", created="", arms=arms, launches=launches)


def test_arms_that_agree_raise_no_note():
    same = bench(("a", {"outputs": outputs(5.0)}), ("b", {"outputs": outputs(5.0001)}))
    assert plans.check(same) == ()
    assert plans.void(same) == same


def test_the_arm_that_differs_from_most_is_named_with_the_numbers():
    result = bench(
        ("wrong", {"outputs": outputs(6.0)}),
        ("b", {"outputs": outputs(5.0)}),
        ("c", {"outputs": outputs(5.0)}),
    )
    (note,) = plans.check(result)
    assert note.code == "checksum_differs"
    assert note.text == "wrong: rms 6 against 5 in b (tolerance 0.0001)"
    marked = plans.void(result)
    assert [bool(launch.invalid) for launch in marked.launches] == [True, False, False]
    assert "rms 6 against 5" in marked.launches[0].invalid


def test_two_arms_that_differ_are_both_named():
    result = bench(("a", {"outputs": outputs(6.0)}), ("b", {"outputs": outputs(5.0)}))
    assert {note.text.split(":")[0] for note in plans.check(result)} == {"a", "b"}


def test_an_output_on_another_device_is_named():
    data = {"outputs": outputs(5.0), "location": "/GPU:0"}
    (note,) = plans.check(bench(("a", data)))
    assert note.code == "other_device"
    assert "/GPU:0" in note.text


def test_arms_without_a_report_are_left_alone():
    assert plans.check(bench(("a", {}), ("b", {"outputs": outputs(5.0)}))) == ()
