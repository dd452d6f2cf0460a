"""The machine itself: load, quota, clocks, limits, containers."""

from __future__ import annotations

import math
import os
import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from coldsoak.machine import host
from coldsoak.machine.checks.base import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["Container", "Governor", "Load", "OpenFiles", "Quota"]

_WATCH_S = 0.3


@dataclass(frozen=True, kw_only=True)
class Busy:
    """How busy the machine is."""

    busy: float
    """Cores that were at work during the last instants."""
    load: float
    """Load average of the last minute."""
    cores: float
    """Cores that this process may use."""


class Load:
    """Other programs at work.

    A first run is mostly CPU work on one or a few threads: imports, compilers, the loader. Programs
    beside it stretch every part of it, and launches in which others take more than three quarters
    of the CPU time are thrown away and repeated.
    """

    code = "load"
    group: Group = "machine"

    def read(self, subject: Subject) -> Busy:
        """Watch the CPUs for a third of a second."""
        share = psutil.cpu_percent(interval=_WATCH_S) / 100
        return Busy(
            busy=share * (os.cpu_count() or 1),
            load=os.getloadavg()[0],
            cores=host.cores_usable(subject.root),
        )

    def judge(self, seen: Busy) -> Iterator[Verdict]:
        """Compare cores at work with cores that may be used."""
        what = (
            f"{seen.busy:.1f} of {seen.cores:g} cores are busy "
            f"(load average {seen.load:.1f} in the last minute)."
        )
        if seen.busy <= 0.25 * seen.cores:
            yield Verdict(code=self.code, state="ok", what=what)
            return
        most = seen.busy > 0.75 * seen.cores
        yield Verdict(
            code=self.code,
            state="bad" if most else "warn",
            what=what,
            why="Imports and compilers share the CPU with them, so first runs look slower.",
            do="End other programs before measuring: top",
        )


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What the cgroups of a process allow."""

    cores: float
    affinity: float
    periods: int = 0
    throttled: int = 0


class Quota:
    """The CPU quota of a container or a service.

    A quota stops all threads for the rest of a period once it is used up. A first run starts many
    threads at once and meets it more than a steady run does. Thread pools are sized by the cores
    that are visible, not by the quota.
    """

    code = "cpu-quota"
    group: Group = "machine"

    def read(self, subject: Subject) -> Limit:
        """Read ``cpu.max`` and ``cpu.stat`` of this process's cgroups."""
        stats = [_stat(folder / "cpu.stat") for folder in host.cpu_cgroups(subject.root)]
        worst = max(stats, key=lambda one: one.get("nr_throttled", 0), default={})
        return Limit(
            cores=host.cores_usable(subject.root),
            affinity=float(len(os.sched_getaffinity(0))),
            periods=worst.get("nr_periods", 0),
            throttled=worst.get("nr_throttled", 0),
        )

    def judge(self, seen: Limit) -> Iterator[Verdict]:
        """Say how often the quota has stopped this container, and what it leaves."""
        share = seen.throttled / seen.periods if seen.periods else 0.0
        if share > 0.05:
            yield Verdict(
                code=self.code,
                state="bad",
                what=f"The CPU quota of {seen.cores:g} cores was used up in {100 * share:.0f} % of its periods.",
                why="Every thread then stands still, up to 0.1 s at a time.",
                do="Give the container more CPU, or measure outside it.",
            )
        elif seen.cores < seen.affinity:
            yield Verdict(
                code=self.code,
                state="warn",
                what=f"A quota allows {seen.cores:g} of {seen.affinity:g} visible cores.",
                why="Libraries start a thread for each visible core and then wait for each other.",
                do=f"export OMP_NUM_THREADS={max(math.floor(seen.cores), 1)}",
            )
        else:
            yield Verdict(code=self.code, state="ok", what="No CPU quota stands in the way.")


def _stat(file: Path) -> dict[str, int]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


class Governor:
    """How the CPUs choose their clock.

    Under ``powersave`` or ``ondemand`` a CPU is slow until it has been busy for a while, which is
    the time in which a first run happens.
    """

    code = "governor"
    group: Group = "machine"

    def read(self, subject: Subject) -> dict[str, int]:
        """Count the governors of all CPUs."""
        found: dict[str, int] = {}
        folder = subject.root / "sys/devices/system/cpu"
        for file in folder.glob("cpu[0-9]*/cpufreq/scaling_governor"):
            try:
                name = file.read_text(encoding="utf-8").strip()
            except OSError:
                continue
            found[name] = found.get(name, 0) + 1
        return found

    def judge(self, seen: dict[str, int]) -> Iterator[Verdict]:
        """Expect ``performance``; a virtual machine shows none."""
        if not seen:
            what = "No clock governor is visible, as in most virtual machines."
            yield Verdict(code=self.code, state="ok", what=what)
            return
        slow = {name: count for name, count in seen.items() if name != "performance"}
        named = ", ".join(f"{name} on {count} CPUs" for name, count in sorted(seen.items()))
        yield Verdict(
            code=self.code,
            state="warn" if slow else "ok",
            what=f"Clock governor: {named}.",
            why="A CPU starts slow and speeds up under load: first runs differ more."
            if slow
            else "",
            do="sudo cpupower frequency-set -g performance" if slow else "",
        )


@dataclass(frozen=True, kw_only=True)
class Files:
    """The limit of open files, and who may size a table by it."""

    soft: int
    daemon: bool
    """The socket of the persistence daemon is here."""


class OpenFiles:
    """The limit of open files.

    Some libraries make a table with an entry for every file that might be opened. With the limit of
    1 073 741 816 that some container engines set, the RPC client behind NVIDIA's persistence
    daemon maps tens of gigabytes: 24 s instead of 2 s for a card query in one report.
    """

    code = "open-files"
    group: Group = "machine"

    def read(self, subject: Subject) -> Files:
        """Read the soft limit of this process."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        socket = subject.root / "var/run/nvidia-persistenced/socket"
        return Files(soft=soft if soft >= 0 else 2**63 - 1, daemon=socket.exists())

    def judge(self, seen: Files) -> Iterator[Verdict]:
        """Call a limit beyond 16 million extreme."""
        if seen.soft <= 1 << 24:
            yield Verdict(
                code=self.code, state="ok", what=f"Up to {seen.soft} files may be open at once."
            )
            return
        yield Verdict(
            code=self.code,
            state="bad" if seen.daemon else "warn",
            what=f"Up to {seen.soft} files may be open at once, which is extreme.",
            why="Libraries that keep a table of all possible files allocate gigabytes at their start.",
            do="ulimit -n 65536, or start the container with --ulimit nofile=65536",
        )


class Container:
    """Containers and virtual machines.

    In a container the home folder and the temporary folder usually go away with it, and with them
    every compile cache. In a virtual machine fresh memory may have to be provided by the host
    first, which makes the same number of page faults up to fifteen times dearer.
    """

    code = "container"
    group: Group = "machine"

    def read(self, subject: Subject) -> str:
        """Ask for the marks that containers and hypervisors leave."""
        return host.surroundings(subject.root)

    def judge(self, seen: str) -> Iterator[Verdict]:
        """Say what it is; there is nothing to repair."""
        what = f"This is a {seen}." if seen else "No container or virtual machine is in sight."
        yield Verdict(code=self.code, state="ok", what=what)
