"""The machine around one launch: load, other programs, throttling, the graphics cards."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.model.result import Conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldsoak.launch.gpu import Gpus, GpuState

__all__ = ["DEFAULT_LIMITS", "Limits", "Probe", "Throttling", "invalid_reason"]

_TICKS = os.sysconf("SC_CLK_TCK")
_CGROUP_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Beyond these a launch says more about the machine than about the command.

    None or False switches a limit off.
    """

    throttled: float | None = 0.05
    """Share of its cgroup periods that may be throttled, 0 to 1."""
    foreign_cpu: float | None = 0.75
    """Share of the machine's CPU time that other programs may use, 0 to 1."""
    gpu_foreign: bool = True
    """No other process may be on a visible card."""
    gpu_throttled: bool = True
    """No card may be slowed down at the start or the end."""


DEFAULT_LIMITS = Limits()


def invalid_reason(conditions: Conditions, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return why a launch under ``conditions`` should be replaced, or an empty text."""
    if limits.gpu_foreign and conditions.gpu_foreign_pids:
        pids = ", ".join(map(str, conditions.gpu_foreign_pids))
        return f"another process was on the GPU (pid {pids})"
    if limits.gpu_throttled and (slow := _gpu_slowdown(conditions)):
        return f"the GPU was throttled: {slow}"
    if _beyond(conditions.throttled, limits.throttled):
        return f"the cgroup was throttled in {_percent(conditions.throttled)} of its periods"
    if _beyond(conditions.foreign_cpu, limits.foreign_cpu):
        return f"other programs used {_percent(conditions.foreign_cpu)} of the CPU time"
    return ""


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.0f} %"


def _beyond(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value > limit


def _gpu_slowdown(conditions: Conditions) -> str:
    for card in conditions.gpu:
        for moment in ("start", "end"):
            if reasons := card.get(moment, {}).get("slowdown"):
                return ", ".join(reasons)
    return ""


@dataclass(frozen=True)
class Throttling:
    """Counters of cpu.stat of this process's cgroup."""

    periods: int
    throttled: int


@dataclass(frozen=True)
class _Cpu:
    busy: float
    steal: float
    own: float
    at: float


class Probe:
    """Reads the conditions before a launch and, with :meth:`finish`, after it.

    Everything that cannot be read stays None. ``finish`` must be called after the tree's
    processes were collected: their CPU time is what the launch itself used.
    """

    def __init__(self, gpus: Gpus | None = None, root: Path = _CGROUP_ROOT) -> None:
        self._gpus = gpus
        self._stat_file = _cpu_stat_file(root)
        self._load = _optional(lambda: os.getloadavg()[0])
        self._throttling = _throttling(self._stat_file)
        self._gpu: tuple[GpuState, ...] = gpus.read() if gpus is not None else ()
        self._cpu = _cpu()

    def finish(self) -> Conditions:
        """Return what changed since the start."""
        foreign, steal = _shares(self._cpu, _cpu())
        after = self._gpus.read() if self._gpus is not None else ()
        return Conditions(
            load_before=self._load,
            foreign_cpu=foreign,
            steal=steal,
            throttled=_throttled_share(self._throttling, _throttling(self._stat_file)),
            gpu_foreign_pids=tuple(sorted({p for s in (*self._gpu, *after) for p in s.pids})),
            gpu=tuple(
                {"uuid": one.uuid, "start": one.values, "end": two.values}
                for one, two in zip(self._gpu, after, strict=False)
            ),
        )


def _optional(read: Callable[[], float]) -> float | None:
    try:
        return read()
    except OSError:
        return None


def _cpu() -> _Cpu | None:
    """CPU seconds of the machine, and of this process with the children that it collected."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = (int(f) for f in line.split()[1:9])
    del idle, iowait
    own = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        own += usage.ru_utime + usage.ru_stime
    busy = (user + nice + system + irq + softirq) / _TICKS
    return _Cpu(busy=busy, steal=steal / _TICKS, own=own, at=time.monotonic())


def _shares(before: _Cpu | None, after: _Cpu | None) -> tuple[float | None, float | None]:
    if before is None or after is None or after.at <= before.at:
        return None, None
    capacity = (after.at - before.at) * (os.cpu_count() or 1)
    # The counters of the kernel tick every 10 ms: over less than ten of them a share is noise.
    if after.at - before.at < 0.1:
        return None, None
    foreign = (after.busy - before.busy) - (after.own - before.own)
    share = min(max(foreign / capacity, 0.0), 1.0)
    return share, min(max((after.steal - before.steal) / capacity, 0.0), 1.0)


def _throttled_share(before: Throttling | None, after: Throttling | None) -> float | None:
    if before is None or after is None or after.periods <= before.periods:
        return None
    return (after.throttled - before.throttled) / (after.periods - before.periods)


def _cpu_stat_file(root: Path) -> Path | None:
    """Return cpu.stat of the nearest cgroup, version 2 or 1, that has one."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if not controllers:
            folder = root
        elif "cpu" in controllers.split(","):
            folder = root / "cpu"
        else:
            continue
        for candidate in (folder / place.lstrip("/") / "cpu.stat", folder / "cpu.stat"):
            if candidate.is_file():
                return candidate
    return None


def _throttling(file: Path | None) -> Throttling | None:
    if file is None:
        return None
    try:
        fields = dict(line.split()[:2] for line in file.read_text(encoding="ascii").splitlines())
        return Throttling(int(fields["nr_periods"]), int(fields["nr_throttled"]))
    except (OSError, KeyError, ValueError):
        return None
