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
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["perf_ready"]

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
