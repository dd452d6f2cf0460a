"""Reading /proc: one process at a time, and never an exception for one that is gone."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Stat",
    "argv",
    "children",
    "environ_has",
    "environ_value",
    "executable",
    "mapped_files",
    "pids",
    "started_ns",
    "stat",
]

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that matter here."""

    pid: int
    ppid: int
    pgid: int
    session: int
    state: str
    cpu_ns: int
    """User and system time of all its threads."""
    start_ticks: int
    """Since boot; with the pid it names a process for ever."""

    @property
    def identity(self) -> tuple[int, int]:
        """Pid and start: a reused pid is another identity."""
        return self.pid, self.start_ticks


def stat(pid: int) -> Stat | None:
    """Return the state of ``pid``, or None when there is no such process."""
    raw = _read(f"/proc/{pid}/stat")
    end = raw.rfind(b")")
    if end < 0:
        return None
    f = raw[end + 2 :].split()
    return Stat(
        pid=pid,
        ppid=int(f[1]),
        pgid=int(f[2]),
        session=int(f[3]),
        state=f[0].decode(),
        cpu_ns=(int(f[11]) + int(f[12])) * _TICK_NS,
        start_ticks=int(f[19]),
    )


def started_ns(start_ticks: int) -> int:
    """Convert a start in clock ticks since boot to CLOCK_MONOTONIC ns (grain: one tick)."""
    boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return start_ticks * _TICK_NS - boot


def children(pid: int) -> list[int]:
    """Return the direct children of ``pid``, started by any of its threads."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - called thousands of times
    except OSError:
        return found
    for task in tasks:
        found += map(int, _read(f"/proc/{pid}/task/{task}/children").split())
    return found


def pids() -> Iterator[int]:
    """Yield the pid of every process that can be seen."""
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            yield int(name)


def argv(pid: int) -> tuple[str, ...]:
    """Return the command line of ``pid``; empty for a zombie or one that is gone."""
    raw = _read(f"/proc/{pid}/cmdline")
    return tuple(os.fsdecode(word) for word in raw.rstrip(b"\0").split(b"\0")) if raw else ()


def executable(pid: int) -> str:
    """Return the program file of ``pid``, or an empty text."""
    try:
        return os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    except OSError:
        return ""


def environ_has(pid: int, setting: bytes) -> bool:
    """Tell whether ``NAME=VALUE`` was in the environment that ``pid`` was started with."""
    return setting in _read(f"/proc/{pid}/environ").split(b"\0")


def environ_value(pid: int, name: bytes) -> bytes:
    """Return the value of ``name`` that ``pid`` was started with; empty when unset."""
    for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
        key, _, value = entry.partition(b"=")
        if key == name:
            return value
    return b""


def mapped_files(pid: int) -> set[str]:
    """Return the files mapped into ``pid``."""
    files = set()
    for line in _read(f"/proc/{pid}/maps").splitlines():
        place = line.find(b"/")
        if place >= 0 and not line.endswith(b" (deleted)"):
            files.add(os.fsdecode(line[place:]))
    return files


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - called thousands of times
            return file.readall()
    except OSError:
        return b""
