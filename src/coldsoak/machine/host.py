"""The host: processor, cores that may be used, memory, virtualisation, versions."""

from __future__ import annotations

import math
import os
import platform
import socket
from importlib import metadata
from pathlib import Path

import psutil

from coldsoak.machine import nvml
from coldsoak.model.result import Device, Machine

__all__ = ["DISTRIBUTIONS", "cores_usable", "cpu_cgroups", "describe", "surroundings", "versions"]

DISTRIBUTIONS = (
    "coldsoak",
    "numpy",
    "tensorflow",
    "tensorflow-cpu",
    "torch",
    "triton",
    "jax",
    "jaxlib",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "onnxruntime",
    "onnxruntime-gpu",
    "numba",
    "nvidia-cuda-cupti",
    "nvidia-cuda-cupti-cu12",
)
"""Packages whose version can change a first run."""

_ROOT = Path("/")


def describe(root: Path = _ROOT) -> Machine:
    """Return the machine as this process sees it; nothing of a framework is imported.

    Args:
        root: Where ``proc`` and ``sys`` are, for tests.

    """
    cards = nvml.read()
    cpu = _cpu_name(root)
    memory = psutil.virtual_memory().total
    return Machine(
        hostname=socket.gethostname(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=cpu,
        cores=os.cpu_count() or 0,
        cores_usable=cores_usable(root),
        memory_bytes=memory,
        virtual=surroundings(root),
        devices=(
            Device(kind="cpu", name=cpu, memory_bytes=memory),
            *(
                Device(
                    kind="gpu",
                    name=card.name,
                    index=card.index,
                    uuid=card.uuid,
                    pci=card.pci,
                    memory_bytes=card.memory_bytes,
                    info={"persistence": card.persistence, "mig": card.mig},
                )
                for card in cards.cards
            ),
        ),
        driver=cards.driver,
        cuda=cards.cuda,
        python=platform.python_version(),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions of the installed packages among :data:`DISTRIBUTIONS`."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        name = str(distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name in DISTRIBUTIONS:
            found.setdefault(name, distribution.version)
    return dict(sorted(found.items()))


def cores_usable(root: Path = _ROOT) -> float:
    """Return how many cores this process may use: its affinity, and its cgroups' quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(float(affinity or 1), *(_quota(folder) for folder in cpu_cgroups(root)), math.inf)


def cpu_cgroups(root: Path = _ROOT) -> list[Path]:
    """Return the folders of this process's CPU cgroup and of those above it (v2, then v1)."""
    folders = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers and "cpu" not in names:
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if "cpu" in names else "")
        place = top / path.lstrip("/")
        folders += [place, *(one for one in place.parents if one.is_relative_to(top))]
    return folders


def _quota(folder: Path) -> float:
    quota, _, period = _read(folder / "cpu.max").strip().partition(" ")
    if not period:
        quota = _read(folder / "cpu.cfs_quota_us").strip()
        period = _read(folder / "cpu.cfs_period_us").strip()
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return math.inf  # "max" in v2, -1 in v1
    return int(quota) / int(period)


def _cpu_name(root: Path) -> str:
    for line in _read(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def surroundings(root: Path = _ROOT) -> str:
    """Return what the machine seems to run in: a container, a hypervisor, both, or nothing."""
    dmi = root / "sys/class/dmi/id"
    vendor = " ".join(
        filter(None, (_read(dmi / name).strip() for name in ("sys_vendor", "product_name")))
    )
    flags = _read(root / "proc/cpuinfo")
    guest = " hypervisor" in flags or "Microsoft" in _read(root / "proc/version")
    hints = [f"virtual machine ({vendor})" if vendor else "virtual machine"] if guest else []
    marks = (".dockerenv", "run/.containerenv")
    boxed = any((root / mark).exists() for mark in marks) or "container=" in _read(
        root / "proc/1/environ"
    )
    return ", ".join(["container", *hints] if boxed else hints)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
