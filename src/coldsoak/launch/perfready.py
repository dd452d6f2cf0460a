"""Keeps the kernel's perf machinery switched on from the parent, and tells whether it may be used.

The first perf event of a task on a machine makes the kernel patch its scheduler and wait for an
RCU grace period: about 18 ms, which the measured process would pay in its first instants. An event
that the parent holds open has paid for it before the launch is spawned.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from coldsoak.launch.procsampler import ProcSampler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["looking", "perf_ready"]

_SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_SOFTWARE, _DUMMY = 1, 9
_NO_KERNEL_NO_HV = 1 << 5 | 1 << 6
_CLOSE_ON_EXEC = 8


@contextmanager
def perf_ready() -> Iterator[bool]:
    """Hold a counter of nothing on this thread; yields whether the kernel allowed it."""
    descriptor = _open()
    try:
        yield descriptor >= 0
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _open() -> int:
    """Return a descriptor, or -1 where ``perf_event_open`` is unknown or refused."""
    number = _SYSCALL.get(platform.machine())
    if number is None or not hasattr(os, "sched_getaffinity"):
        return -1
    head = struct.pack("<IIQQQQQ", _SOFTWARE, 128, _DUMMY, 0, 0, 0, _NO_KERNEL_NO_HV)
    attr = ctypes.create_string_buffer(head, 128)
    this_thread, any_cpu, no_group = 0, -1, -1
    call = ctypes.CDLL(None).syscall
    return int(call(number, attr, this_thread, any_cpu, no_group, _CLOSE_ON_EXEC))


@contextmanager
def looking(spool: Path, sources: Sequence[str]) -> Iterator[None]:
    """Do the parent's share of the ``perf`` source during a launch.

    Pays for perf before the spawn; where the kernel refuses it, watches the threads through /proc.
    Does nothing when ``sources`` has no ``perf``.
    """
    if "perf" not in sources:
        yield
        return
    with perf_ready() as allowed, nullcontext() if allowed else ProcSampler(spool):
        yield
