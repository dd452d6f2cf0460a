"""A bench launch as the launcher makes it: the worker under the agent, read back as a launch."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import coldsoak
from coldsoak import plans

INJECT = Path(coldsoak.__file__).with_name("inject")


def records(folder, arm, mode="timed"):
    environment = {
        **os.environ,
        "PYTHONPATH": str(INJECT),
        "COLDSOAK_SPOOL": str(folder),
        "COLDSOAK_MODE": mode,
        "COLDSOAK_T0": str(time.monotonic_ns()),
        "COLDSOAK_SOURCES": "",
    }
    done = subprocess.run(
        arm.argv, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    return done, [json.loads(line) for line in lines]


def tagged(found, tag):
    return [record[1:] for record in found if record[0] == tag]


def data_of(found):
    return [json.loads(text) for code, text in tagged(found, "note") if code == "data"]


def plan(**options):
    return plans.plan(frameworks=("numpy",), devices=("cpu",), **options).arms[0]


def test_every_run_is_a_region_and_nothing_else_is(tmp_path):
    done, found = records(tmp_path, plan(shapes=("16",), runs=5))
    assert done.returncode == 0
    regions = tagged(found, "region")
    assert [(region[7], region[8]) for region in regions] == [("bench", "run")] * 5
    assert len({region[2] for region in regions}) == 1, "one series"
    assert not tagged(found, "reading"), "the worker's own clock is not the user's"
    (data,) = data_of(found)
    assert data["runs"] == 5
    assert data["first_s"] == regions[0][6]
    assert "COLDSOAK-REPORT" not in done.stdout


def test_warm_shapes_are_series_of_their_own(tmp_path):
    _, found = records(tmp_path, plan(shapes=("16", "17"), runs=2, warm_shapes=True))
    regions = tagged(found, "region")
    assert len(regions) == 4
    assert len({region[2] for region in regions}) == 2
    cases = [case for _, _, case in tagged(found, "key")]
    assert cases == [[["shape", "'16'"]], [["shape", "'17'"]]]


def test_a_naive_run_ends_before_it_is_ready(tmp_path):
    _, found = records(tmp_path, plan(shapes=("16",), runs=2, naive=True))
    for region in tagged(found, "region"):
        end, ready = region[5], region[9]
        assert ready >= end
    assert len(data_of(found)[0]["ready_seconds"]) == 2


def test_a_failure_reaches_the_launch_as_data_and_the_log_in_words(tmp_path):
    arm = plan(shapes=("16",), runs=2)
    request = {**json.loads(arm.argv[-1]), "device": "cuda:9"}
    broken = type(arm)(name="x", argv=(sys.executable, str(plans.WORKER), json.dumps(request)))
    done, found = records(tmp_path, broken)
    assert done.returncode == 1
    assert data_of(found)[0]["error"]["kind"] == "DeviceMissing"
    assert "numpy sees no device 'cuda:9'." in done.stderr
