"""Killed at random moments, a launch leaves no process and a result that can be read."""

import os
import random
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coldsoak.launch.store import Store

ROOT = Path(__file__).parents[2]
STRESS = runpy.run_path(str(ROOT / "scripts" / "stress_launches.py"))
VICTIM = ROOT / "tests" / "victims" / "launch_misbehave.py"

SESSION = """
import sys
from pathlib import Path
from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.session import measure
from coldsoak.launch.store import Store
from coldsoak.model.result import Arm, Options

arm = Arm(name="victim", argv=(sys.executable, *sys.argv[2:]))
result = measure(
    [arm], Options(budget_s=30), kind="run", command=arm.argv,
    store=Store(Path(sys.argv[1])), executor=ProcessExecutor(grace_s=0.2),
)
print("complete" if result.complete else "incomplete", len(result.launches))
"""


def test_random_kills(tmp_path):
    assert STRESS["stress"](6, 20261130, tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_session_that_is_killed_returns_what_it_has(tmp_path, number):
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(tmp_path), str(VICTIM), "crowd"],
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 20
    while len(STRESS["members"](tmp_path)) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(random.Random(int(number)).uniform(0, 0.3))
    os.kill(session.pid, number)
    out, _ = session.communicate(timeout=30)
    assert out == "incomplete 1\n"
    assert STRESS["members"](tmp_path) == []
    result = Store(tmp_path).load("last")
    assert result.complete is False
    assert [launch.status for launch in result.launches] == ["interrupted"]
    assert result.summaries[0].stopped_by == "interrupted"
