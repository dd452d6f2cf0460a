"""When each process of a launch began and ended, as far as its records tell."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.launch.redact import redact_command
from coldsoak.model.result import Child

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from coldsoak.launch.spoolfile import File

__all__ = ["Life", "find", "phase", "strangers"]


@dataclass(frozen=True)
class Life:
    """Bounds of one process, CLOCK_MONOTONIC ns."""

    start_ns: int
    end_ns: int
    complete: bool
    """It ended as it should: its agent had the last word, or another program replaced it."""


def find(
    files: Sequence[File], *, t0_ns: int, spawn_pid: int | None, ends: Mapping[int, int]
) -> list[Life]:
    """Return the life of each process, in the order of ``files`` (by first line).

    The spawned process starts at ``t0_ns``. Another one starts when its parent said so, else at
    the clock tick that the kernel noted. A process without a known end lasts to its last record.
    """
    boot_ns = _monotonic_at_boot()
    starts = []
    for place, file in enumerate(files):
        before = _predecessor(files[:place], file)
        if before is not None:
            starts.append(_replaced(before, file))
        elif file.process.pid == spawn_pid:
            starts.append(t0_ns)
        else:
            starts.append(min(max(_start(file, files, boot_ns), t0_ns), file.process.begin_ns))
    return [_life(file, place, files, starts, ends) for place, file in enumerate(files)]


def phase(file: File, name: str, *, last: bool = False) -> int | None:
    """Return when the first (or last) phase of that name was, CLOCK_MONOTONIC ns."""
    moments = [phase.ns for phase in file.phases if phase.name == name]
    return moments[-1 if last else 0] if moments else None


def strangers(files: Sequence[File], *, t0_ns: int) -> Iterator[Child]:
    """Yield the processes that were started, with a known pid, and have no spool of their own."""
    agents = {file.process.pid for file in files}
    for file in files:
        for child in file.children:
            replaced = child.how == "exec" and not any(
                other.process.pid == file.process.pid
                and other.process.begin_ns > file.process.begin_ns
                for other in files
            )
            if replaced or (child.pid and child.pid not in agents):
                yield Child(
                    pid=child.pid or file.process.pid,
                    ppid=file.process.ppid if child.how == "exec" else file.process.pid,
                    argv=redact_command(child.argv),
                    start_ns=max(0, child.ns - t0_ns),
                    end_ns=None,
                )


def _life(
    file: File,
    place: int,
    files: Sequence[File],
    starts: Sequence[int],
    ends: Mapping[int, int],
) -> Life:
    start = starts[place]
    successor = _successor(files[place + 1 :], file)
    if successor is not None:
        return Life(start, max(start, starts[files.index(successor)]), complete=True)
    exited = phase(file, "exit")
    end = ends.get(file.process.pid)
    if end is None or end < file.process.begin_ns:
        end = exited if exited is not None else file.last_ns
    replaced = any(child.how == "exec" for child in file.children[-1:])
    return Life(start, max(start, end), complete=exited is not None or replaced)


def _start(file: File, files: Sequence[File], boot_ns: int) -> int:
    """Prefer the parent's word to the kernel's tick, which is coarse."""
    process = file.process
    tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
    tick = boot_ns + process.starttime_ticks * tick_ns if process.starttime_ticks else None
    told = [
        child.ns
        for parent in files
        if parent.process.pid == process.ppid
        for child in parent.children
        if child.how != "exec" and child.ns <= process.begin_ns and child.pid in {0, process.pid}
        if tick is None or child.pid == process.pid or abs(child.ns - tick) < 2 * tick_ns
    ]
    if told:
        return max(told)
    return process.begin_ns if tick is None else tick


def _predecessor(earlier: Sequence[File], file: File) -> File | None:
    """Return the last of ``earlier`` that lived in the same process before an exec."""
    return next((one for one in reversed(earlier) if _same_process(one, file)), None)


def _successor(later: Iterable[File], file: File) -> File | None:
    return next((one for one in later if _same_process(file, one)), None)


def _same_process(one: File, other: File) -> bool:
    """One pid is one process while the kernel's start time is the same; a reused pid is not."""
    first, second = one.process, other.process
    return first.pid == second.pid and first.starttime_ticks == second.starttime_ticks


def _replaced(before: File, file: File) -> int:
    """Return when one program replaced the other in the same process."""
    told = [child.ns for child in before.children if child.how == "exec"]
    moment = max(told, default=before.last_ns)
    return min(max(moment, before.process.begin_ns), file.process.begin_ns)


def _monotonic_at_boot() -> int:
    """Return the reading of CLOCK_MONOTONIC at boot: below 0 by the time spent suspended."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
