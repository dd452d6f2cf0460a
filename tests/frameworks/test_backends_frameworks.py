"""Every backend computes every workload with its real framework, in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from coldsoak import backends, plans
from coldsoak.backends.report import parse_report
from coldsoak.model.result import Launch, Result

FRAMEWORKS = [
    pytest.param(name, marks=pytest.mark.framework(name))
    for name in ("tensorflow", "torch", "jax", "onnxruntime", "numpy")
]


def child(argv, **env):
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=280, check=False, env={**os.environ, **env}
    )


def require(name):
    if not backends.get(name).available():
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_keeps_the_contract_in_every_mode_and_dtype(name):
    require(name)
    backend = backends.get(name)
    home = f"{backend.__module__}:{backend.__name__}"
    done = child([sys.executable, "-m", "coldsoak.backends.contract", home, "cpu"])
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (
        0,
        [f"{name} keeps the contract"],
    ), done.stdout + done.stderr[-2000:]


def measured(arm):
    done = child(arm.argv)
    assert done.returncode == 0, done.stderr[-2000:]
    return parse_report(done.stdout)


@pytest.mark.parametrize("workload", ["matmul", "conv2d", "attention"])
def test_installed_frameworks_agree_at_ordinary_sizes(workload):
    shape = {"matmul": "300", "conv2d": "size=20,batch=2", "attention": "50"}[workload]
    present = [name for name in ("torch", "jax", "onnxruntime", "numpy") if name in INSTALLED]
    plan = plans.plan(
        workload, frameworks=present, devices=("cpu",), shapes=(shape,), inner=2, runs=2
    )
    launches = tuple(
        Launch(index=i, round=1, arm=arm.name, kind="timed", data=measured(arm))
        for i, arm in enumerate(plan.arms)
    )
    result = Result(
        version="0", id="x", kind="bench", created="", arms=plan.arms, launches=launches
    )
    assert len(launches) >= 2
    assert plans.check(result) == ()
    for launch in launches:
        assert launch.data["runs"] == 2
        assert launch.data["location"] == launch.data["device"]


INSTALLED = backends.installed()


@pytest.mark.framework("torch")
def test_a_device_that_is_not_there_names_those_that_are():
    require("torch")
    request = {
        "workload": "matmul",
        "framework": "torch",
        "shapes": [{"n": 8}],
        "device": "cuda:63",
    }
    done = child([sys.executable, str(plans.WORKER), json.dumps(request)])
    error = parse_report(done.stdout)["error"]
    assert done.returncode == 1
    assert error["kind"] == "DeviceMissing"
    assert "cpu" in error["why"]


@pytest.mark.framework("torch")
def test_out_of_memory_of_a_framework_is_told_as_such():
    require("torch")
    request = {"workload": "elementwise", "framework": "torch", "shapes": [{"n": 10**7}]}
    done = child([sys.executable, str(plans.WORKER), json.dumps(request)])
    error = parse_report(done.stdout)["error"]
    assert error["kind"] == "OutOfMemory"
    assert "smaller --shape" in error["do"]
