"""The closed list of causes: where the time of a first run can go."""

from __future__ import annotations

from enum import Enum

__all__ = ["GROUPS", "Cause", "group_of"]


class Cause(str, Enum):
    """A code of the ledger; ``coldsoak explain CODE`` prints its page."""

    INTERPRETER_START = "interpreter_start"
    IMPORT_PYTHON = "import_python"
    IMPORT_BYTECODE_COMPILE = "import_bytecode_compile"
    PYTHON_GC = "python_gc"
    LIBRARY_LOAD = "library_load"
    PAGE_IN = "page_in"
    PAGE_FAULT = "page_fault"
    THREAD_START = "thread_start"
    CHILD_PROCESS = "child_process"
    NETWORK_WAIT = "network_wait"
    LOCK_WAIT = "lock_wait"
    RUN_QUEUE = "run_queue"
    PROCESS_EXIT = "process_exit"

    DRIVER_INIT = "driver_init"
    CONTEXT_CREATE = "context_create"
    MODULE_LOAD = "module_load"
    LAZY_KERNEL_LOAD = "lazy_kernel_load"
    PTX_JIT = "ptx_jit"

    LIBRARY_HANDLE = "library_handle"
    PLAN_BUILD = "plan_build"
    ALGORITHM_SEARCH = "algorithm_search"

    TRACE = "trace"
    COMPILE = "compile"
    CACHE_LOOKUP = "cache_lookup"

    DEVICE_ALLOC = "device_alloc"
    POOL_RESERVE = "pool_reserve"
    PINNED_ALLOC = "pinned_alloc"
    HOST_TO_DEVICE = "host_to_device"
    DEVICE_TO_HOST = "device_to_host"

    KERNEL_LAUNCH = "kernel_launch"
    DEVICE_COMPUTE = "device_compute"
    HOST_COMPUTE = "host_compute"
    FRAMEWORK_HOST = "framework_host"

    MEASUREMENT = "measurement"
    UNATTRIBUTED = "unattributed"

    def __str__(self) -> str:
        return self.value


def _span(first: Cause, last: Cause) -> tuple[Cause, ...]:
    codes = list(Cause)
    return tuple(codes[codes.index(first) : codes.index(last) + 1])


GROUPS: dict[str, tuple[Cause, ...]] = {
    "process": _span(Cause.INTERPRETER_START, Cause.PROCESS_EXIT),
    "driver": _span(Cause.DRIVER_INIT, Cause.PTX_JIT),
    "library": _span(Cause.LIBRARY_HANDLE, Cause.ALGORITHM_SEARCH),
    "compiler": _span(Cause.TRACE, Cause.CACHE_LOOKUP),
    "memory": _span(Cause.DEVICE_ALLOC, Cause.DEVICE_TO_HOST),
    "work": _span(Cause.KERNEL_LAUNCH, Cause.FRAMEWORK_HOST),
    "tool": (Cause.MEASUREMENT,),
    "rest": (Cause.UNATTRIBUTED,),
}
"""Causes by the part of the stack that they belong to, in the order of reports."""

_GROUP_OF = {cause: group for group, causes in GROUPS.items() for cause in causes}


def group_of(cause: Cause) -> str:
    """Return the group of ``cause``, a key of :data:`GROUPS`."""
    return _GROUP_OF[cause]
