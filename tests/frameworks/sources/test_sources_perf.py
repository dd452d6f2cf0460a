"""What perf sees of processes whose cost is known."""

from __future__ import annotations

import os
import shutil
from collections import Counter

import pytest


@pytest.mark.parametrize(
    ("what", "reason"),
    [("sleep", "sleep"), ("lock", "futex"), ("child", "child"), ("pipe", "pipe")],
)
@pytest.mark.usefixtures("kernel_stacks")
def test_a_wait_of_300_ms_is_named_and_measured(sampled, what, reason):
    seen = sampled("trace_waits.py", what)
    found = [ms for name, _, ms in seen.spans("wait") if name == reason and 250 < ms < 600]
    assert found, Counter(name for name, _, ms in seen.spans("wait") if ms > 10)


def test_first_touch_is_counted_in_pages(sampled):
    seen = sampled("trace_touch.py")
    pages = sum(value for name, value in seen.events("fault.minor") if name == "anon")
    assert 16_384 * 0.95 < pages < 16_384 * 1.5


def test_threads_are_born_and_sampled(sampled):
    seen = sampled("trace_threads.py")
    assert len(seen.events("threads")) >= 8
    tracks = Counter(seen.rows(seen.trace.samples, "track"))
    burning = [track for track, count in tracks.items() if count >= 20]
    assert len(burning) >= 8
    period = seen.trace.samples.period_ns / 1e9
    burnt, ends = 8 * 0.05, 8 * 2 * period  # a sample may be missing at either end of a thread
    assert burnt - ends <= sum(tracks.values()) * period < 1.2


def test_the_interpreter_is_named_by_symbol(sampled):
    seen = sampled("trace_threads.py")
    leaves = seen.leaves()
    named = [symbol for _, symbol in leaves if "Py" in symbol or "sum" in symbol]
    assert len(named) > 0.5 * len(leaves), Counter(leaves).most_common(9)
    unmapped = [library for library, _ in leaves if library == "[unmapped]"]
    assert len(unmapped) < 0.02 * len(leaves)


def test_forked_children_are_sampled_and_left_unharmed(sampled):
    seen = sampled("trace_fork.py")
    children = [process for process in seen.trace.processes if process.parent_thread]
    assert len(children) == 2
    for child in children:
        assert len(seen.leaves(child.pid)) > 100
        assert child.end_ns is not None
    assert children[1].ppid == children[0].pid
    assert seen.state("perf").state == "on"
    assert seen.state("perf").lost == 0


def test_a_child_that_is_no_python_is_seen_with_its_command(sampled):
    code = "import subprocess\nsubprocess.run(['sh', '-c', 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'])\n"
    seen = sampled(code)
    (name, command, ms) = max(seen.spans("child"), key=lambda span: span[2])
    assert name == "sh"
    assert command.startswith("sh -c i=0")
    child = next(process for process in seen.trace.processes if process.argv[:1] == ("sh",))
    assert ms > 20
    assert len(seen.leaves(child.pid)) > 15


def test_a_python_child_leaves_sampling_to_its_parent(sampled):
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'sum(range(5000000))'])\n"
    seen = sampled(code)
    assert len(seen.records) == 2
    reasons = [r.reason for r in seen.records[1] if getattr(r, "name", "") == "perf"]
    assert reasons[-1] == f"process {seen.records[0][0].pid} samples this one too"
    assert len(seen.leaves(seen.records[1][0].pid)) > 30
    assert seen.state("perf").state == "on"


def test_the_cost_of_the_start_is_booked(sampled):
    seen = sampled("trace_threads.py")
    costs = {name: ms for name, _, ms in seen.spans("cost")}
    assert 0 < costs["perf"] <= seen.state("perf").cost_ns / 1e6 + 0.001


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_an_ordinary_user_gets_user_space_samples_or_a_reason(traced, tmp_path):
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no interpreter that another user may run")
    seen = traced("import sys\nsum(range(5_000_000))\n", user=65534, python=python)
    state = seen.state("perf")
    if state.state == "off":
        assert "perf_event_open refused" in state.reason
    else:
        assert state.reason.startswith("user space only")
        assert len(seen.leaves()) > 20
        assert not any(library == "[kernel]" for library, _ in seen.leaves())


def test_bytes_read_from_storage_are_told(traced, tmp_path):
    data = tmp_path / "data"
    data.write_bytes(os.urandom(8 << 20))
    code = (
        "import os, sys\n"
        f"fd = os.open({str(data)!r}, os.O_RDONLY)\n"
        "os.fsync(fd)\n"
        "os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "os.read(fd, 8 << 20)\n"
    )
    seen = traced(code, sources="io")
    read = sum(value for _, value in seen.events("read_bytes"))
    if not read:
        pytest.skip("this file system does not count reads")
    assert read >= 8 << 20
