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

from coldsoak.launch import keeper, proc
from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.session import measure
from coldsoak.launch.store import Store
from coldsoak.model.result import Arm, Options

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

arm = Arm(name="victim", argv=tuple(sys.argv[2:]))
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
        [sys.executable, "-c", SESSION, str(tmp_path), sys.executable, str(VICTIM), "crowd"],
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


def keeper_of(pid):
    """The process that watches over a session of ``pid``."""
    found = [child for child in proc.children(pid) if proc.argv(child)[-1:] == (keeper.__file__,)]
    assert len(found) == 1
    return found[0]


def gone(pid, patience_s=20.0):
    deadline = time.monotonic() + patience_s
    while (state := proc.stat(pid)) is not None and state.state != "Z":
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("command", "size"),
    [
        ([sys.executable, str(VICTIM), "crowd"], 4),
        ([sys.executable, str(VICTIM), "stubborn"], 1),
        (["sleep", "60"], 1),
    ],
    ids=["tree with a daemon", "ignores SIGTERM", "no Python"],
)
def test_what_was_launched_does_not_outlive_a_coldsoak_that_is_killed(tmp_path, command, size):
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(tmp_path), *command], stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 20
    while len(STRESS["members"](tmp_path)) < size and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)  # stubborn has to have its handler
    watcher = keeper_of(session.pid)
    session.kill()
    session.wait()
    assert gone(watcher)
    assert STRESS["members"](tmp_path) == []


def test_nothing_watches_over_a_session_that_has_ended(tmp_path):
    watchers = []
    arm = Arm(name="victim", argv=(sys.executable, str(VICTIM), "nothing"))

    class Looking(ProcessExecutor):
        def launch(self, request):
            done = super().launch(request)
            watchers.append(keeper_of(os.getpid()))
            return done

    measure(
        [arm],
        Options(launches=2, trace=False),
        kind="run",
        command=arm.argv,
        store=Store(tmp_path),
        executor=Looking(),
    )
    assert len(watchers) == 3
    assert len(set(watchers)) == 1
    assert proc.stat(watchers[0]) is None
