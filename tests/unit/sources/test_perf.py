from __future__ import annotations

import errno
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def perf(load, monkeypatch):
    monkeypatch.delenv("COLDSOAK_PERF_OWNER", raising=False)
    return load("perf")


@pytest.fixture
def off(load, perf):
    return sys.modules["coldsoak_agent.sources"].Off


def refuse(error):
    def _open(*args):
        raise OSError(error, os.strerror(error))

    return _open


@pytest.mark.parametrize("error", [errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EINVAL])
def test_a_refusal_names_the_kernels_reason(perf, off, agent, monkeypatch, error):
    monkeypatch.setattr(perf, "_open", refuse(error))
    with pytest.raises(off, match=os.strerror(error)):
        perf.start(agent)
    assert not agent.of("file")
    assert "COLDSOAK_PERF_OWNER" not in os.environ


def test_a_machine_without_a_known_number_is_refused(perf, off, agent, monkeypatch):
    monkeypatch.setattr(perf.os, "uname", lambda: SimpleNamespace(machine="vax"))
    with pytest.raises(off, match="vax"):
        perf.start(agent)


def test_a_descendant_leaves_sampling_to_its_ancestor(perf, off, agent, monkeypatch):
    monkeypatch.setenv("COLDSOAK_PERF_OWNER", str(os.getppid()))
    with pytest.raises(off, match=f"process {os.getppid()} samples this one too"):
        perf.start(agent)


def test_an_ancestor_that_is_gone_samples_nobody(perf, off, agent, monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setenv("COLDSOAK_PERF_OWNER", str(gone.pid))
    monkeypatch.setattr(perf, "_open", refuse(errno.EACCES))
    with pytest.raises(off, match="refused"):
        perf.start(agent)


def test_the_attribute_has_the_size_and_flags_that_the_kernel_reads(perf):
    attr = perf._attr(3, 7, perf._SWITCH)
    assert len(attr) == 128
    assert int.from_bytes(attr[4:8], "little") == 128
    assert int.from_bytes(attr[8:16], "little") == 3
    assert int.from_bytes(attr[16:24], "little") == 7
    flags = int.from_bytes(attr[40:48], "little")
    assert flags & perf._SWITCH
    assert not flags & perf._INHERIT
    assert int.from_bytes(attr[92:96], "little") == 1  # CLOCK_MONOTONIC


def test_a_fork_forgets_the_rings_without_touching_them(perf, agent, monkeypatch):
    monkeypatch.setattr(perf, "_rings", [(0, 1, 4096)])
    monkeypatch.setattr(perf, "_file", 999)
    perf.after_fork(agent)
    assert agent.state[0] == "off"
    perf.flush(agent)
    perf.stop(agent)


def test_a_descriptor_that_the_program_reused_is_never_written(perf, agent, monkeypatch, tmp_path):
    other = tmp_path / "users.txt"
    descriptor = os.open(other, os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr(perf, "_rings", [(0, 1, 4096)])
    monkeypatch.setattr(perf, "_file", descriptor)
    monkeypatch.setattr(perf, "_identity", (0, 0))
    perf.flush(agent)
    perf.stop(agent)
    os.close(descriptor)
    assert agent.state == ("lost", "the bulk file could not be written")
    assert other.read_bytes() == b""


def test_io_counts_only_what_is_new(load, agent, monkeypatch):
    io = load("io")
    totals = iter([100, 100, 612, 612])
    monkeypatch.setattr(io, "_read", lambda: next(totals))
    io.start(agent)
    io.flush(agent)
    io.flush(agent)
    io.stop(agent)
    assert [args["value"] for _, _, args in agent.spans] == [100, 512]


@pytest.mark.parametrize(
    ("cpus", "allowed", "expected"),
    [
        (2, {"task"}, ("task", 4)),
        (2, {"user"}, ("user", 4)),
        (16, {"cpu", "task"}, ("cpu", 4)),
        (16, {"task"}, ("task", 2)),
        (128, {"user"}, ("user", 1)),
    ],
)
def test_large_machines_inherit_fewer_events(perf, monkeypatch, cpus, allowed, expected):
    def _open_events(number, cpus, events, task, extra):
        kind = "cpu" if task < 0 else "user" if extra & perf._NO_KERNEL else "task"
        if kind not in allowed:
            raise OSError(errno.EACCES, "refused")
        return {str(place): event[0] for place, event in enumerate(events)}

    monkeypatch.setattr(perf, "_open_events", _open_events)
    ids, got = perf._open_all(298, list(range(cpus)))
    assert (got, len(ids)) == expected
    said = perf._describe(got, set(ids.values()))
    assert ("too many CPUs" in said) is (len(ids) < 4)
