"""The host as /proc and /sys describe it."""

import os
import subprocess
import sys

import pytest

from coldsoak.machine import host


@pytest.fixture
def root(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/1").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(
        "processor : 0\nmodel name : Some  CPU @ 3 GHz\nflags : fpu hypervisor avx\n"
    )
    return tmp_path


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_this_machine_is_described():
    machine = host.describe()
    assert machine.cores == os.cpu_count()
    assert 0 < machine.cores_usable <= machine.cores
    assert machine.memory_bytes > 1 << 28
    assert machine.devices[0].kind == "cpu"
    assert machine.versions["numpy"]
    assert machine.python == sys.version.split()[0]


def test_describing_imports_no_framework():
    code = (
        "import sys; from coldsoak.machine import host; host.describe();"
        "print([m for m in ('numpy','torch','tensorflow','jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_name_of_the_cpu_is_cleaned(root):
    assert host._cpu_name(root) == "Some CPU @ 3 GHz"


def test_quota_of_cgroup_2_counts_with_those_above(root, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    put(root / "proc/self/cgroup", "0::/app.slice/job\n")
    put(root / "sys/fs/cgroup/app.slice/job/cpu.max", "max 100000\n")
    assert host.cores_usable(root) == 8
    put(root / "sys/fs/cgroup/app.slice/cpu.max", "150000 100000\n")
    assert host.cores_usable(root) == 1.5


def test_quota_of_cgroup_1(root, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    put(root / "proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/box\n")
    folder = root / "sys/fs/cgroup/cpu/box"
    put(folder / "cpu.cfs_quota_us", "-1\n")
    put(folder / "cpu.cfs_period_us", "100000\n")
    assert host.cores_usable(root) == 8
    put(folder / "cpu.cfs_quota_us", "250000\n")
    assert host.cores_usable(root) == 2.5


def test_affinity_limits_the_cores(root, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    assert host.cores_usable(root) == 2


def test_virtual_machines_and_containers_are_told(root):
    put(root / "sys/class/dmi/id/sys_vendor", "QEMU\n")
    put(root / "sys/class/dmi/id/product_name", "Standard PC\n")
    assert host.surroundings(root) == "virtual machine (QEMU Standard PC)"
    put(root / ".dockerenv", "")
    assert host.surroundings(root) == "container, virtual machine (QEMU Standard PC)"
    put(root / "proc/cpuinfo", "flags : fpu\n")
    assert host.surroundings(root) == "container"
