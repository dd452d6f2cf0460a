"""Kill launches at random moments and show that nothing is left: no process, no broken result.

    python scripts/stress_launches.py --launches 50 --seed 1

Each launch runs a program with threads, forks, a daemon and grandchildren. At a random moment a
random process of it, or all of them, get a random signal; every fifth time coldsoak itself gets
SIGTERM instead. Exits with status 1 when a process survived or a result could not be read.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from coldsoak.launch import proc
from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.request import LaunchInterrupted, Request
from coldsoak.launch.store import Store
from coldsoak.model.result import Arm, Options, Result

VICTIM = Path(__file__).resolve().parents[1] / "tests" / "victims" / "launch_misbehave.py"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGHUP)


def members(folder: Path) -> list[int]:
    """Return the pids that carry a spool below ``folder``."""
    mark = os.fsencode(folder.resolve())
    return [
        pid for pid in proc.pids() if proc.environ_value(pid, b"COLDSOAK_SPOOL").startswith(mark)
    ]


def disturb(folder: Path, chance: random.Random, over: threading.Event, *, parent: bool) -> None:
    """Wait a random time, then send random signals until the launch is over."""
    if over.wait(chance.uniform(0.0, 0.6)):
        return
    if parent:
        os.kill(os.getpid(), signal.SIGTERM)
        return
    while not over.is_set():
        alive = members(folder)
        chosen = alive if chance.random() < 0.3 else alive[:1] or []
        if alive and chance.random() < 0.5:
            chosen = [chance.choice(alive)]
        for pid in chosen:
            with suppress(ProcessLookupError):
                os.kill(pid, chance.choice(SIGNALS))
        over.wait(chance.uniform(0.01, 0.2))


def stress(launches: int, seed: int, home: Path) -> list[str]:
    """Run the launches and return what went wrong, in words."""
    chance = random.Random(seed)
    store = Store(home)
    arm = Arm(name="crowd", argv=(sys.executable, str(VICTIM), "crowd"))
    options = Options(timeout_s=8.0, trace=False)
    executor = ProcessExecutor(grace_s=0.2)
    result = Result(
        version="stress", id=store.create(arm.argv), kind="run", created="", arms=(arm,)
    )
    folder = store.folder(result.id)
    wrong = []
    for index in range(launches):
        request = Request(
            arm=arm,
            kind="timed",
            round=1,
            index=index,
            position=0,
            options=options,
            folder=folder,
        )
        launch = one_launch(executor, request, chance, parent=index % 5 == 4)
        result = replace(result, launches=(*result.launches, launch))
        store.save(result)
        if left := members(folder):
            wrong.append(f"launch {index} ({launch.status}) left {left}")
        if store.load(result.id) != result:
            wrong.append(f"the result after launch {index} reads differently")
    return wrong


def one_launch(executor, request, chance, *, parent):
    """Run one launch while it is disturbed."""
    over = threading.Event()
    thread = threading.Thread(
        target=disturb,
        args=(request.folder, random.Random(chance.random()), over),
        kwargs={"parent": parent},
    )
    thread.start()
    try:
        return executor.launch(request)
    except LaunchInterrupted as interrupt:
        return interrupt.launch
    finally:
        over.set()
        with suppress(KeyboardInterrupt):
            thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        wrong = stress(arguments.launches, arguments.seed, Path(home))
    for line in wrong:
        print(line)
    print(f"{arguments.launches} launches, seed {arguments.seed}: {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
