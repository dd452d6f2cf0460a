"""CUDA activity through CUPTI: driver and runtime API, overheads, JIT, kernels, copies, memory.

CUPTI is called through ctypes, straight from the ``libcupti`` that CUDA builds of the frameworks
bring along. The two buffer callbacks are a dozen machine instructions that hand out slices of one
anonymous mapping: a Python callback would need the interpreter's lock on whatever thread happens to
call the driver, which costs time inside the measured calls and can deadlock with a thread that holds
that lock and waits for CUPTI. Raw records are drained by the flush thread and parsed by the parent
(``coldsoak.launch.cupti``); only texts behind pointers are resolved here.

File format: chunks of ``<u32 type> <u32 length> payload``. Type 1 holds whole CUPTI records, type 2
UTF-8 lines: ``clock MONO0 CUPTI MONO1``, ``size KIND BYTES``, ``name POINTER TEXT``,
``api KIND CBID NAME``, ``dropped N``. Sizes are learned from ``cuptiActivityGetNextRecord``, so a
longer record of a newer CUPTI is stepped over rightly; the leading fields have been the same since
CUPTI 12.1 (compared in the headers of 12.1, 12.5, 12.8 and 13.0).
"""

import os
import sys
import time

from coldsoak_agent.cuda import INJECTIONS, VARIABLES, find_cupti
from coldsoak_agent.sources import Off

NAME = "cupti"

MEMCPY, MEMSET, DRIVER, RUNTIME, DEVICE, CONTEXT = 1, 2, 4, 5, 8, 9
KERNEL, OVERHEAD, SYNCHRONIZATION, MEMORY2, JIT = 10, 17, 38, 49, 52
KINDS = (
    DRIVER,
    RUNTIME,
    OVERHEAD,
    MEMCPY,
    MEMSET,
    KERNEL,
    CONTEXT,
    DEVICE,
    JIT,
    MEMORY2,
    SYNCHRONIZATION,
)
# CUpti_ActivityKind of <cupti_activity.h>

TEXT_AT = {KERNEL: 104, DEVICE: 136, JIT: 56}
# offset of the ``const char *`` in CUpti_ActivityKernel, Device and Jit

ATTR_ZEROED_OUT_BUFFER = 5
THREAD_ID_SYSTEM = 1

BUFFER_SHIFT = 18
BUFFER = 1 << BUFFER_SHIFT
COUNT = 4096
# 256 KiB hold about two thousand records; 1 GiB of reserved addresses in all, touched only when used

_state = None


def start(agent):
    """Enable the activity kinds before the first CUDA call of the program.

    Raises:
        Off: no NVIDIA device, no libcupti, or CUPTI is taken or refused.
    """
    global _state
    if not (os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/nvidia0")):
        raise Off("no NVIDIA device")
    for name in INJECTIONS:
        if os.environ.get(name):
            raise Off("another tool is injected (%s is set)" % name)
    path = find_cupti(sys.path, os.environ)
    if path is None:
        raise Off(
            "libcupti not found: install the extra cuda12 or cuda13, or a CUDA build of the framework"
        )
    _state = _Cupti(agent, path)
    _state.enable()
    for module, wrap in _PROFILERS.items():
        agent.on_import(module, wrap)


def flush(agent):
    """Write the records of all full buffers, and those of finished work in the others."""
    if _state is not None and _state.active:
        _state.flush(force=False)


def stop(agent):
    """Write everything."""
    if _state is not None and _state.active:
        _state.flush(force=True)
        _state.report()
        _note_environment(agent)


def _note_environment(agent):
    """Say which of CUDA's variables were set in the end: a program may set them after its start."""
    import json

    found = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    agent.note("data", json.dumps({"cuda_environment": found}))


def after_fork(agent):
    """A forked child must not touch CUPTI: its threads and mappings belong to the parent."""
    global _state
    if _state is not None:
        _state = None
        agent.source(NAME, "off", "forked from a process that traces", 0, 0)


def yield_to(who):
    """Let go of CUPTI, which has one user at a time, before the program's own profiler takes it."""
    if _state is not None and _state.active:
        _state.flush(force=True)
        _state.disable()
        _state.agent.source(
            NAME, "lost", "%s of the program took CUPTI over" % who, _state.cost_ns, 0
        )


class _Cupti(object):
    def __init__(self, agent, path):
        import ctypes
        import struct

        begin = time.monotonic_ns()
        self.agent = agent
        self.active = False
        self.ctypes = ctypes
        self.lib = ctypes.CDLL(path)
        self.pool = _Pool(ctypes)
        self.path = agent.spool_path("cupti")
        self.fd = None
        self.sizes = {}
        self.texts = set()
        self.apis = set()
        self.lines = []
        self.read_int = struct.Struct("<i").unpack_from
        self.read_two = struct.Struct("<ii").unpack_from
        self.read_pointer = struct.Struct("<Q").unpack_from
        self.head = struct.Struct("<II").pack
        self.cost_ns = time.monotonic_ns() - begin
        self.library = path

    def enable(self):
        begin = time.monotonic_ns()
        ctypes, lib = self.ctypes, self.lib
        lib.cuptiSetThreadIdType(ctypes.c_int(THREAD_ID_SYSTEM))
        one, size = ctypes.c_uint8(1), ctypes.c_size_t(1)
        lib.cuptiActivitySetAttribute(ATTR_ZEROED_OUT_BUFFER, ctypes.byref(size), ctypes.byref(one))
        status = lib.cuptiActivityRegisterCallbacks(self.pool.requested, self.pool.completed)
        if status:
            raise Off("CUPTI refused the buffers: %s" % self.error(status))
        enabled = []
        refused = []
        for kind in KINDS:
            status = lib.cuptiActivityEnable(kind)
            (refused if status else enabled).append((kind, status))
        if not any(kind in (DRIVER, KERNEL) for kind, _ in enabled):
            raise Off("CUPTI refused: %s" % self.error(refused[0][1]))
        self.active = True
        self.align()
        end = time.monotonic_ns()
        self.cost_ns += end - begin
        self.agent.cost("cupti start", begin - self.cost_ns + (end - begin), end)

    def error(self, status):
        text = self.ctypes.c_char_p()
        if self.lib.cuptiGetResultString(status, self.ctypes.byref(text)) or not text.value:
            return "error %d" % status
        return text.value.decode("ascii", "replace")

    def align(self):
        stamp = self.ctypes.c_uint64()
        best = None
        for _ in range(5):
            before = time.monotonic_ns()
            self.lib.cuptiGetTimestamp(self.ctypes.byref(stamp))
            after = time.monotonic_ns()
            if best is None or after - before < best[2] - best[0]:
                best = (before, stamp.value, after)
        self.lines.append("clock %d %d %d" % best)

    def disable(self):
        self.active = False
        for kind in KINDS:
            self.lib.cuptiActivityDisable(kind)

    def flush(self, force):
        begin = time.monotonic_ns()
        self.lib.cuptiActivityFlushAll(1 if force else 0)
        chunks = self.pool.drain()
        if chunks or force:
            self.align()
            for chunk in chunks:
                self.inspect(chunk)
                self.write(1, chunk)
            lines, self.lines = self.lines, []
            self.write(2, "\n".join(lines).encode("utf-8", "replace"))
        self.cost_ns += time.monotonic_ns() - begin

    def inspect(self, chunk):
        """Note the texts behind pointers while they are still in memory; learn record sizes."""
        ctypes, sizes, read_int = self.ctypes, self.sizes, self.read_int
        at, end = 0, len(chunk)
        base = None
        while at + 4 <= end:
            (kind,) = read_int(chunk, at)
            size = sizes.get(kind)
            if size is None:
                base = base or ctypes.addressof(ctypes.c_char.from_buffer(chunk))
                size = self.learn(base, end, at, kind)
                if size is None:
                    break
            if kind in {DRIVER, RUNTIME}:
                self.apis.add(self.read_two(chunk, at))
            elif kind in TEXT_AT:
                (pointer,) = self.read_pointer(chunk, at + TEXT_AT[kind])
                if pointer and pointer not in self.texts:
                    self.texts.add(pointer)
                    text = ctypes.string_at(pointer).decode("utf-8", "replace").replace("\n", " ")
                    self.lines.append("name %d %s" % (pointer, text))
            at += size
        self.name_apis()

    def learn(self, base, end, at, kind):
        """Return the size of the record at ``at``, from CUPTI's own iterator; None at the end."""
        ctypes = self.ctypes
        record = ctypes.c_void_p(base + at)
        status = self.lib.cuptiActivityGetNextRecord(
            ctypes.c_void_p(base), ctypes.c_size_t(end), ctypes.byref(record)
        )
        size = (record.value or 0) - base - at
        if status or size <= 0:
            size = end - at
            if size > 4096:
                return None
        self.sizes[kind] = size
        self.lines.append("size %d %d" % (kind, size))
        return size

    def name_apis(self):
        text = self.ctypes.c_char_p()
        while self.apis:
            kind, cbid = self.apis.pop()
            if (kind, cbid) in self.texts:
                continue
            self.texts.add((kind, cbid))
            domain = 1 if kind == DRIVER else 2
            if (
                not self.lib.cuptiGetCallbackName(domain, cbid, self.ctypes.byref(text))
                and text.value
            ):
                self.lines.append(
                    "api %d %d %s" % (kind, cbid, text.value.decode("ascii", "replace"))
                )

    def write(self, kind, payload):
        if self.fd is None:
            self.fd = os.open(
                self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
            )
            self.agent.file("cupti", self.path, {"library": self.library})
        view = memoryview(self.head(kind, len(payload)) + bytes(payload))
        while view:
            view = view[os.write(self.fd, view) :]

    def report(self):
        dropped = self.ctypes.c_size_t()
        self.lib.cuptiActivityGetNumDroppedRecords(None, 0, self.ctypes.byref(dropped))
        lost = dropped.value + (BUFFER // 128) * self.pool.refused()
        self.agent.source(NAME, "lost" if lost else "on", "", self.cost_ns, lost)


class _Pool(object):
    """Buffers for CUPTI from one mapping, handed out once each and emptied by ``drain``.

    The mappings come from the C library and are never given back: CUPTI calls the callbacks once
    more while the process exits, after the interpreter has freed its own objects.

    Raises:
        Off: another architecture than x86-64, or executable memory is refused.
    """

    def __init__(self, ctypes):
        self.ctypes = ctypes
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = (
            [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        )
        self.libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self.base = self._map(COUNT * BUFFER)
        self.control = self._map(4096 + COUNT * 16)
        self.next = ctypes.c_uint64.from_address(self.control)
        self.done = ctypes.c_uint64.from_address(self.control + 64)
        self.entries = (ctypes.c_uint64 * (2 * COUNT)).from_address(self.control + 4096)
        self.drained = 0
        self.requested, self.completed = self._callbacks()

    def _map(self, size, executable=False):
        protection = 7 if executable else 3
        address = self.libc.mmap(
            None, size, protection, 0x4022, -1, 0
        )  # private, anonymous, no reserve
        if address in {None, self.ctypes.c_void_p(-1).value}:
            raise Off("no memory for the buffers (%s)" % os.strerror(self.ctypes.get_errno()))
        return address

    def drain(self):
        """Return the contents of the buffers completed since the last call, as bytearrays."""
        chunks = []
        while self.drained < min(self.done.value, COUNT):
            address, used = self.entries[2 * self.drained], self.entries[2 * self.drained + 1]
            if not address:
                break
            if used:
                chunks.append(bytearray(self.ctypes.string_at(address, used)))
            self.libc.madvise(address, BUFFER, 4)  # MADV_DONTNEED: give the pages back
            self.drained += 1
        return chunks

    def refused(self):
        """Return how often CUPTI asked for a buffer when none was left."""
        return max(0, self.next.value - COUNT)

    def _callbacks(self):
        """Assemble the callbacks for x86-64 (System V calling convention).

        ``requested(uint8_t **buffer, size_t *size, size_t *records)`` takes the next index with a
        locked add; ``completed(context, stream, buffer, size, valid)`` appends to the table, the
        buffer's address last, so that a non-zero address means a whole entry.
        """
        if os.uname().machine != "x86_64":
            raise Off("only on x86-64 so far, this is %s" % os.uname().machine)
        add_next = b"\xf0\x49\x0f\xc1\x00"  # lock xadd [r8], rax
        add_done = b"\xf0\x49\x0f\xc1\x01"  # lock xadd [r9], rax

        def take(add):
            """Return ``mov eax, 1``, the locked add, ``cmp rax, COUNT``, ``jae``."""
            return b"\xb8\x01\0\0\0" + add + b"\x48\x3d" + _u32(COUNT) + b"\x73"

        give = b"".join(
            (
                b"\x48\xc1\xe0" + bytes((BUFFER_SHIFT,)),  # shl rax, BUFFER_SHIFT
                b"\x49\xb8" + _u64(self.base),  # mov r8, base
                b"\x4c\x01\xc0",  # add rax, r8
                b"\x48\x89\x07",  # mov [rdi], rax
                b"\x48\xc7\x06" + _u32(BUFFER),  # mov qword [rsi], BUFFER
                b"\x48\xc7\x02" + _u32(0),  # mov qword [rdx], 0: as many records as fit
                b"\xc3",
            )
        )
        none = b"\x31\xc0\x48\x89\x07\x48\x89\x06\x48\x89\x02\xc3"  # all three zero
        store = b"".join(
            (
                b"\x48\xc1\xe0\x04",  # shl rax, 4
                b"\x49\xb9" + _u64(self.control + 4096),  # mov r9, entries
                b"\x4c\x01\xc8",  # add rax, r9
                b"\x4c\x89\x40\x08",  # mov [rax+8], r8
                b"\x48\x89\x10",  # mov [rax], rdx
            )
        )
        endbr = b"\xf3\x0f\x1e\xfa"
        requested = [
            endbr,
            b"\x49\xb8",
            _u64(self.control),
            take(add_next),
            bytes((len(give),)),
            give,
            none,
        ]
        completed = [
            endbr,
            b"\x49\xb9",
            _u64(self.control + 64),
            take(add_done),
            bytes((len(store),)),
            store,
            b"\xc3",
        ]
        address = self._map(4096, executable=True)
        for code, offset in ((requested, 0), (completed, 512)):
            self.ctypes.memmove(address + offset, b"".join(code), len(b"".join(code)))
        return self.ctypes.c_void_p(address), self.ctypes.c_void_p(address + 512)


def _u32(value):
    return value.to_bytes(4, "little")


def _u64(value):
    return value.to_bytes(8, "little")


def _before(owner, attribute, who):
    original = getattr(owner, attribute, None)
    if original is None:
        return

    def wrapper(*args, **kwargs):
        yield_to(who)
        return original(*args, **kwargs)

    wrapper.__name__ = attribute
    wrapper.__wrapped__ = original
    setattr(owner, attribute, wrapper)


def _torch_profiler(module):
    if hasattr(module.profile, "_prepare_trace"):
        _before(module.profile, "_prepare_trace", "torch.profiler")
    else:
        _before(module.profile, "__enter__", "torch.autograd.profiler")


def _jax_profiler(module):
    _before(module, "start_trace", "jax.profiler")


def _tensorflow_profiler(module):
    _before(module, "start", "tf.profiler")


_PROFILERS = {
    "torch.autograd.profiler": _torch_profiler,
    "jax._src.profiler": _jax_profiler,
    "tensorflow.python.profiler.profiler_v2": _tensorflow_profiler,
}
