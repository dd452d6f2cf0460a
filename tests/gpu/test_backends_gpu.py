"""Every installed framework computes every workload on the first card."""

import subprocess
import sys

import pytest

from coldsoak import backends, plans
from coldsoak.backends.report import parse_report
from coldsoak.machine import devices, nvml
from coldsoak.model.result import Launch, Result

pytestmark = pytest.mark.gpu

ON_CARDS = ("tensorflow", "torch", "jax", "cupy", "onnxruntime")


@pytest.fixture(scope="module")
def survey():
    if not nvml.read().cards:
        pytest.skip("there is no card")
    return devices.survey(backends.installed(), timeout=120.0)


def on_card(survey):
    return [
        one.name for one in survey.frameworks if any(device.kind == "gpu" for device in one.devices)
    ]


@pytest.mark.parametrize("name", ON_CARDS)
def test_a_framework_keeps_the_contract_on_the_card(survey, name):
    if name not in on_card(survey):
        pytest.skip(f"{name} sees no card here")
    backend = backends.get(name)
    home = f"{backend.__module__}:{backend.__name__}"
    done = subprocess.run(
        [sys.executable, "-m", "coldsoak.backends.contract", home, "gpu"],
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    last = done.stdout.splitlines()[-1:]
    assert last == [f"{name} keeps the contract"], done.stdout + done.stderr[-2000:]


def test_all_names_of_the_first_card_are_joined(survey):
    """Holds where CUDA and NVML count alike, as on a machine with one model of card."""
    first = survey.devices[0]
    assert first.kind == "gpu"
    assert set(first.names) == set(on_card(survey))


def test_frameworks_agree_on_the_card_and_waiting_takes_longer_than_launching(survey):
    plan = plans.plan(
        frameworks=on_card(survey), devices=("gpu",), shapes=("4000",), runs=4, naive=True
    )
    launches = []
    for index, arm in enumerate(plan.arms):
        done = subprocess.run(arm.argv, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        data = parse_report(done.stdout)
        launches.append(Launch(index=index, round=1, arm=arm.name, kind="timed", data=data))
        assert data["location"] == data["device"]
        assert all(
            ready >= seconds
            for ready, seconds in zip(data["ready_seconds"], data["seconds"], strict=True)
        )
    result = Result(
        version="0", id="x", kind="bench", created="", arms=plan.arms, launches=tuple(launches)
    )
    assert plans.check(result) == ()
