"""Host samples, context switches, page faults and mappings through ``perf_event_open``.

Software events only, so that it works in virtual machines; one ring for each CPU with ``inherit``,
so that threads and child processes, exec'd ones too, are covered; on large machines, where each
new thread would pay for that, whole CPUs, and the reader drops what belongs to others. The records are written as the
kernel made them; ``coldsoak.launch.perfdata`` reads them. Layout of the bulk file: chunks of
``<IIQ`` (CPU, or MAPS for a copy of /proc/self/maps; bytes that follow; CLOCK_MONOTONIC ns).

The layout of ``perf_event_attr`` and the flag bits are those of ``linux/perf_event.h``.
"""

import ctypes
import os
import struct
from _thread import allocate_lock
from time import monotonic_ns

from . import Off

MAPS = 0xFFFFFFFF
PERIOD_NS = 1_000_000
MINOR_PERIOD = 32
MAX_STACK = 24
OWNER = "COLDSOAK_PERF_OWNER"

_SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_IP, _TID, _TIME, _ADDR, _CALLCHAIN, _IDENTIFIER = 1, 2, 4, 8, 32, 1 << 16
SAMPLE_TYPE = _IP | _TID | _TIME | _ADDR | _CALLCHAIN | _IDENTIFIER
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HV, _NO_IDLE = 1, 2, 1 << 5, 1 << 6, 1 << 7
_MMAP, _COMM, _TASK, _WATERMARK = 1 << 8, 1 << 9, 1 << 13, 1 << 14
_MMAP_DATA, _ID_ALL, _NO_KERNEL_CHAIN = 1 << 17, 1 << 18, 1 << 21
_NO_USER_CHAIN, _MMAP2, _COMM_EXEC, _CLOCKID, _SWITCH = 1 << 22, 1 << 23, 1 << 24, 1 << 25, 1 << 26
_FAULT = _NO_KERNEL_CHAIN | _NO_USER_CHAIN
_TRACK = _MMAP | _MMAP_DATA | _MMAP2 | _COMM | _COMM_EXEC | _TASK | _SWITCH
_IOC_ENABLE, _IOC_SET_OUTPUT, _IOC_ID = 0x2400, 0x2405, 0x80082407
_CLOCK_MONOTONIC = 1

EVENTS = (
    ("clock", 0, PERIOD_NS, _TRACK),
    ("switch", 3, 1, 0),
    ("fault.major", 6, 1, 0),
    ("fault.minor", 5, MINOR_PERIOD, _FAULT),
)
"""Name, PERF_COUNT_SW_*, period, flags; the first owns the ring, the others write into it."""

_MAX_EVENTS = 32
"""Each new thread inherits every event of every CPU, at about 9 µs each: fewer on large machines."""
_MANY_CPUS = 8
"""Beyond so many, whole CPUs are watched where that is allowed, which costs a new thread nothing."""

_HIGH_FD = 264
"""Descriptors from here on are out of the way of programs that count on low numbers."""
_F_DUPFD_CLOEXEC = 1030

_libc = None
_rings = []
_descriptors = []
_lock = allocate_lock()
_file = -1
_identity = None
_page = 4096
_reason = ""
_cost = 0


def start(agent):
    """Open the events on every CPU this process may use, and switch them on."""
    global _libc, _page, _file, _identity, _reason, _cost
    began = monotonic_ns()
    _refuse_where_sampled()
    number = _SYSCALL.get(os.uname().machine)
    if number is None:
        raise Off("no number of perf_event_open is known for " + os.uname().machine)
    _libc = ctypes.CDLL(None, use_errno=True)
    _page = os.sysconf("SC_PAGE_SIZE")
    cpus = sorted(os.sched_getaffinity(0))
    ids, mode = _open_all(number, cpus)
    path = agent.spool_path("perf")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    _file = _raise(os.open(path, flags, 0o644))
    _identity = _identify(_file)
    _write_maps()
    for descriptor in _descriptors:
        _libc.ioctl(descriptor, _IOC_ENABLE, 0)
    os.environ[OWNER] = str(os.getpid())
    info = {"ids": ids, "sample_type": SAMPLE_TYPE, "period_ns": PERIOD_NS, "mode": mode}
    info.update(minor_period=MINOR_PERIOD, pid=os.getpid())
    agent.file("perf", os.path.basename(path), info)
    _cost = monotonic_ns() - began
    agent.cost("perf", began, began + _cost)
    _reason = _describe(mode, set(ids.values()))


def flush(agent):
    """Write what the rings hold to the bulk file; does nothing while another thread does it."""
    global _file, _reason
    if _file < 0 or not _lock.acquire(False):
        return
    try:
        if _reason:
            agent.source("perf", "on", _reason, _cost)
            _reason = ""
        whole = _identify(_file) == _identity
        for cpu, address, size in _rings:
            whole = whole and _drain(cpu, address, size)
        if not whole:
            _file = -1
            agent.source("perf", "lost", "the bulk file could not be written", _cost)
    finally:
        _lock.release()


def stop(agent):
    """Write the rest and a last copy of the mappings."""
    flush(agent)
    if _file >= 0:
        _write_maps()


def after_fork(agent):
    """Forget the parent's rings: they are not mapped in a child, and the parent drains them."""
    global _rings, _file, _lock
    if _file >= 0:
        agent.source("perf", "off", "process %s samples this one too" % os.environ.get(OWNER, ""))
    _rings, _file, _lock = [], -1, allocate_lock()


def _identify(descriptor):
    """Tell which file is open; a program that closes all descriptors may have reused the number."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _raise(descriptor):
    """Move a descriptor out of the program's way and return its new number."""
    high = _libc.fcntl(descriptor, _F_DUPFD_CLOEXEC, ctypes.c_long(_HIGH_FD))
    if high < 0:
        return descriptor
    os.close(descriptor)
    return high


def _refuse_where_sampled():
    owner = os.environ.get(OWNER, "")
    if not owner.isdigit() or int(owner) == os.getpid():
        return
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return
    except OSError:
        pass
    raise Off("process %s samples this one too" % owner)


def _attr(config, period, flags):
    flags |= _DISABLED | _NO_HV | _ID_ALL | _CLOCKID | _WATERMARK
    return struct.pack(
        "<IIQQQQQIIQQQQIiQIHHIIQ",
        *(1, 128, config, period, SAMPLE_TYPE, 0, flags, 0x7FFFFFFF, 0, 0, 0, 0, 0, 0),
        *(_CLOCK_MONOTONIC, 0, 0, MAX_STACK, 0, 0, 0, 0),
    )


def _open(number, task, cpu, attr):
    # task 0 is the calling thread, -1 whatever runs there; flag 8 is PERF_FLAG_FD_CLOEXEC
    buffer = ctypes.create_string_buffer(attr, 128)
    descriptor = _libc.syscall(number, buffer, task, cpu, -1, 8)
    if descriptor < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return _raise(descriptor)


def _open_all(number, cpus):
    """Open all events in the best mode that the kernel allows; return their names by id, and it."""
    few = EVENTS[: max(1, _MAX_EVENTS // len(cpus))]
    modes = [("task", few, 0, _INHERIT), ("user", few, 0, _INHERIT | _NO_KERNEL | _NO_KERNEL_CHAIN)]
    if len(cpus) > _MANY_CPUS:
        modes.insert(0, ("cpu", EVENTS, -1, _NO_IDLE))
    error = None
    for mode, events, task, extra in modes:
        try:
            return _open_events(number, cpus, events, task, extra), mode
        except OSError as refused:  # noqa: PERF203 - three turns at most
            error = refused
            _close_all()
    raise Off("perf_event_open refused: %s%s" % (error.strerror, _paranoid(2)))


def _open_events(number, cpus, events, task, extra):
    ids = {}
    for cpu in cpus:
        leader = -1
        for name, config, period, flags in events:
            descriptor = _open(number, task, cpu, _attr(config, period, flags | extra))
            _descriptors.append(descriptor)
            if leader < 0:
                leader = descriptor
                _rings.append((cpu, *_map(descriptor, len(cpus))))
            elif _libc.ioctl(descriptor, _IOC_SET_OUTPUT, leader) < 0:
                raise OSError(ctypes.get_errno(), "the ring cannot be shared")
            identity = ctypes.c_uint64()
            _libc.ioctl(descriptor, ctypes.c_ulong(_IOC_ID), ctypes.byref(identity))
            ids[str(identity.value)] = name
    return ids


def _map(descriptor, cpus):
    """Map a ring of 0.5 to 4 MiB, or what the kernel's limit on locked memory allows."""
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    share = 32 * 2**20 // cpus
    for size in (4 * 2**20, 2 * 2**20, 2**20, 2**19, 2**17, 2**15):
        if size > max(share, 2**19) or size < _page:
            continue
        # 3 is PROT_READ|PROT_WRITE, 1 is MAP_SHARED
        address = _libc.mmap(None, size + _page, 3, 1, descriptor, 0)
        if address not in (None, ctypes.c_void_p(-1).value):
            return address, size
    raise OSError(ctypes.get_errno(), "no memory may be locked for a ring")


def _close_all():
    for _, address, size in _rings:
        _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size + _page))
    for descriptor in _descriptors:
        os.close(descriptor)
    del _rings[:], _descriptors[:]


def _drain(cpu, address, size):
    head = ctypes.c_uint64.from_address(address + 1024).value
    tail = ctypes.c_uint64.from_address(address + 1032)
    length = head - tail.value
    if not length:
        return True
    begin, base = tail.value % size, address + _page
    first = min(length, size - begin)
    parts = [(ctypes.c_char * first).from_address(base + begin)]
    if first < length:
        parts.append((ctypes.c_char * (length - first)).from_address(base))
    written = _write(cpu, length, parts)
    tail.value = head
    return written


def _write(kind, length, parts):
    header = struct.pack("<IIQ", kind, length, monotonic_ns())
    try:
        return os.writev(_file, [header, *parts]) == length + len(header)
    except OSError:
        return False


def _write_maps():
    try:
        with open("/proc/self/maps", "rb", 0) as maps:
            content = b"%d\n%s" % (os.getpid(), maps.read())
    except OSError:
        return
    _write(MAPS, len(content), [content])


def _paranoid(enough):
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as setting:
            found = setting.read().strip()
            return " (kernel.perf_event_paranoid is %s, %d is enough)" % (found, enough)
    except OSError:
        return ""


def _describe(mode, events):
    where = "user space only" + _paranoid(1) if mode == "user" else "user and kernel"
    left_out = [event[0] for event in EVENTS if event[0] not in events]
    faults = ", one minor fault in %d" % MINOR_PERIOD if "fault.minor" in events else ""
    less = "; too many CPUs for " + ", ".join(left_out) if left_out else ""
    return "%s at 1 kHz of CPU time%s%s" % (where, faults, less)
