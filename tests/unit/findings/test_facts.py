"""Facts of recorded traces, and of what frameworks say in their output."""

from pathlib import Path

import msgspec
import pytest

from coldsoak.findings import extract
from coldsoak.findings.facts import messages_of, placements_of
from coldsoak.launch.trace import load_trace
from coldsoak.model.result import Launch, SourceState

DATA = Path(__file__).parents[2] / "data" / "ledger"


def recorded(name):
    launch = msgspec.json.decode((DATA / f"{name}.launch.json").read_bytes(), type=Launch)
    return launch, load_trace(DATA / f"{name}.trace.gz")


@pytest.mark.parametrize("name", ["cupy", "jax", "tensorflow", "torch"])
def test_the_device_work_of_runs(name):
    launch, trace = recorded(name)
    facts = extract(trace, launch)
    assert {w.series for w in facts.work} <= {e.series for e in launch.executions}
    assert sum(kernel.count for kernel in facts.kernels) > 0
    for work in facts.work:
        assert work.busy_ns >= max((k.ns // max(k.count, 1) for k in work.kernels), default=0)
        assert work.tail_ns >= 0
    assert max(work.kernel_count for work in facts.work) >= 1


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_each_later_run_queues_the_same_work(name):
    launch, trace = recorded(name)
    later = [w for w in extract(trace, launch).work if w.run > 0 and w.kernel_count]
    assert later
    assert len({work.kernel_count for work in later}) == 1


@pytest.mark.parametrize(("state", "seen"), [("on", True), ("lost", False), ("off", False)])
def test_only_a_source_that_lost_nothing_shows_that_there_was_no_work(state, seen):
    launch, trace = recorded("torch")
    sources = (SourceState(name="cupti", state=state),)
    assert extract(msgspec.structs.replace(trace, sources=sources), launch).device_seen is seen


def test_facts_survive_the_file():
    launch, trace = recorded("torch")
    facts = extract(trace, launch)
    saved = msgspec.json.encode(msgspec.structs.replace(launch, facts=facts))
    assert msgspec.json.decode(saved, type=Launch).facts == facts
    assert len(msgspec.json.encode(facts)) < 200_000


LOG = """
I0000 Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0
I0000 Executing op Sum in device /job:localhost/replica:0/task:0/device:CPU:0
Could not find cuda drivers on your machine, GPU will not be used.
Could not find cuda drivers on your machine, GPU will not be used.
all is well
"""


def test_what_the_log_says_of_devices():
    assert placements_of(LOG) == {"device:CPU:0": 2}
    assert messages_of(LOG) == (
        "Could not find cuda drivers on your machine, GPU will not be used.",
    )
    assert messages_of("") == ()
