"""Does the slow parts of a first run beside the imports, before the program asks for them.

A plan is a text, one ``word value`` a line, made from a recipe by ``coldsoak exec`` (environment
variable ``COLDSOAK_PREHEAT``) or ``coldsoak.preheat``:

``script NAME``    only the process whose script or module has this name
``context N``      create the primary CUDA context of device N on a thread
``library PATH``   then open this library there (cuBLASLt, cuBLAS, in order) and run small products
``env NAME=VALUE`` CUDA variables of the recorded run; any difference switches the CUDA stages off
``readahead PATH`` file of page ranges, ``PATH TAB OFFSET TAB LENGTH`` a line, read ahead by threads
``gc PACKAGE``     the collector is off while this package is imported, then frozen and on again

The rules that make this safe, each with a test: only the driver API is called on the thread, as
foreign calls that release the interpreter's lock; ``libcuda`` is opened and its symbols are resolved
before the thread starts, because the loader's lock serialises everything; libraries are opened
through ``dlopen`` itself, never through ``ctypes.CDLL``, which keeps the interpreter's lock for the
whole call; nothing imports, and no library that knows Python is opened, on a thread; CUDA is left
alone when the environment differs, when the card is not in default compute mode, when there is no
card, when the arguments ask for help; a fork and the exit of the process wait for the thread. A
stage that fails is reported and otherwise ignored.
"""

import os
import sys
import time

import _thread

VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_CACHE_PATH",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "NVIDIA_TF32_OVERRIDE",
)
# What the driver reads once, in cuInit

HELP = {"-h", "--help", "--version", "-V", "help"}
COMPUTE_MODE = 20  # CU_DEVICE_ATTRIBUTE_COMPUTE_MODE; 0 is the default mode
SIZES = (64, 1024)
# Orders of the small products: one for the handle, one for the kernels of large matrices
EXIT_WAIT_S = 5.0

handle = None


class Handle(object):
    """A running preheat.

    ``stages`` maps the name of a stage to ``(state, text, begin_ns, end_ns)``; state is ``done``,
    ``running``, ``off`` or ``failed``, times are CLOCK_MONOTONIC.
    """

    def __init__(self):
        self.begin_ns = time.monotonic_ns()
        self.stages = {}
        self.running = 0
        self.lock = _thread.allocate_lock()
        self.idle = _thread.allocate_lock()

    def wait(self, timeout=None):
        """Wait until all threads are done; return whether they are. ``timeout`` in seconds."""
        if not self.idle.acquire(True, -1 if timeout is None else timeout):
            return False
        self.idle.release()
        return True

    def report(self):
        """Return a copy of ``stages``."""
        return dict(self.stages)

    def note(self, stage, state, text="", begin=None, end=None):
        now = time.monotonic_ns()
        self.stages[stage] = (state, text, begin or now, end or now)

    def spawn(self, stage, work):
        """Run ``work`` on a thread; its result is the stage's text, an exception its failure."""
        with self.lock:
            if not self.running:
                self.idle.acquire(False)
            self.running += 1
        self.note(stage, "running")
        begin = time.monotonic_ns()

        def body():
            try:
                self.note(stage, "done", work() or "", begin)
            except Exception as error:
                self.note(stage, "failed", str(error), begin)
            finally:
                with self.lock:
                    self.running -= 1
                    if not self.running:
                        self.idle.release()

        _thread.start_new_thread(body, ())


class Unfit(Exception):
    """The stage does not fit this process."""


def start(plan):
    """Start all stages of ``plan`` that fit; return the handle at once."""
    global handle
    handle = Handle()
    wanted = {}
    for line in plan.splitlines():
        word, _, value = line.partition(" ")
        wanted.setdefault(word, []).append(value)
    for stage, begin in (
        ("gc", _start_gc),
        ("readahead", _start_readahead),
        ("context", _start_cuda),
    ):
        if stage in wanted:
            try:
                begin(handle, wanted)
            except Unfit as reason:
                handle.note(stage, "off", str(reason))
            except Exception as error:
                handle.note(stage, "failed", repr(error))
    if handle.running:
        os.register_at_fork(before=handle.wait)
        import atexit

        atexit.register(handle.wait, EXIT_WAIT_S)
    return handle


def start_from_environment():
    """Start the plan in ``COLDSOAK_PREHEAT`` if it is meant for this process, and take it out."""
    plan = os.environ.get("COLDSOAK_PREHEAT")
    if not plan:
        return None
    for line in plan.splitlines():
        word, _, value = line.partition(" ")
        if word == "script" and value != script_name():
            return None
    del os.environ["COLDSOAK_PREHEAT"]
    running = start(plan)
    target = os.environ.get("COLDSOAK_PREHEAT_REPORT")
    if target:
        import atexit

        atexit.register(write_report, running, target)
    return running


def write_report(running, path):
    """Append one line a stage: pid, name, state, begin and end relative to the start in ms, text."""
    try:
        with open(path, "a") as file:
            for stage, (state, text, begin, end) in running.report().items():
                at, until = (begin - running.begin_ns) / 1e6, (end - running.begin_ns) / 1e6
                file.write(
                    "%d\t%s\t%s\t%.3f\t%.3f\t%s\n" % (os.getpid(), stage, state, at, until, text)
                )
    except OSError:
        pass


def script_name():
    """Return the base name of the script, or the module after -m, of this interpreter."""
    words = getattr(sys, "orig_argv", None) or _command_line()
    skip = False
    for at, word in enumerate(words[1:], 1):
        if skip:
            skip = False
        elif word in {"-W", "-X"}:
            skip = True
        elif word == "-m":
            return words[at + 1] if at + 1 < len(words) else ""
        elif word.startswith("-"):
            if word == "-c":
                return "-c"
        else:
            return os.path.basename(word)
    return ""


def _command_line():
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return list(sys.argv)


def _start_gc(running, wanted):
    import gc

    import _frozen_importlib

    packages = set(wanted["gc"])
    original = _frozen_importlib._find_and_load
    frozen = []

    def find_and_load(name, import_):
        if name not in packages or not gc.isenabled():
            return original(name, import_)
        gc.disable()
        try:
            return original(name, import_)
        finally:
            gc.freeze()
            gc.enable()
            frozen.append(name)
            running.note("gc", "done", " ".join(frozen))

    code = find_and_load.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    find_and_load.__code__ = code
    _frozen_importlib._find_and_load = find_and_load
    running.note("gc", "running")


def _start_readahead(running, wanted):
    ranges = []
    with open(wanted["readahead"][0]) as file:
        for line in file:
            path, offset, length = line.rstrip("\n").split("\t")
            ranges.append((path, int(offset), int(length)))
    if not ranges:
        raise Unfit("no recorded ranges")

    def read(part):
        def work():
            total = 0
            opened = {}
            for path, offset, length in part:
                fd = opened.get(path)
                if fd is None:
                    try:
                        fd = opened[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                    except OSError:
                        fd = opened[path] = -1
                if fd >= 0:
                    os.posix_fadvise(fd, offset, length, os.POSIX_FADV_WILLNEED)
                    total += length
            for fd in opened.values():
                if fd >= 0:
                    os.close(fd)
            return "%d bytes asked for" % total

        return work

    for number in range(4):
        running.spawn("readahead %d" % number, read(ranges[number::4]))


def _start_cuda(running, wanted):
    _check_fit(wanted)
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    libc = ctypes.CDLL(None)
    calls = _resolve(ctypes, cuda, libc)
    device = int(wanted["context"][0])
    libraries = wanted.get("library", [])

    def work():
        begin = time.monotonic_ns()
        _create_context(ctypes, calls, device)
        running.note("context created", "done", "", begin)
        if libraries:
            begin = time.monotonic_ns()
            _small_products(ctypes, calls, libraries)
            running.note("products", "done", "", begin)
        return ""

    running.spawn("context", work)


def _check_fit(wanted):
    if not os.path.exists("/dev/nvidiactl"):
        raise Unfit("no NVIDIA device")
    if HELP & set((getattr(sys, "orig_argv", None) or sys.argv)[1:]):
        raise Unfit("the arguments ask for help")
    recorded = dict(entry.partition("=")[::2] for entry in wanted.get("env", ()))
    for name in VARIABLES:
        now = os.environ.get(name)
        if now != recorded.get(name):
            raise Unfit(
                "%s was %s in the recorded run and is %s here" % (name, recorded.get(name), now)
            )


def _resolve(ctypes, cuda, libc):
    names = {
        "cuInit": cuda,
        "cuDeviceGetCount": cuda,
        "cuDeviceGet": cuda,
        "cuDeviceGetAttribute": cuda,
        "cuDevicePrimaryCtxRetain": cuda,
        "cuCtxSetCurrent": cuda,
        "cuCtxSynchronize": cuda,
        "cuMemAlloc_v2": cuda,
        "cuMemFree_v2": cuda,
        "dlopen": libc,
        "dlsym": libc,
    }
    calls = {name: getattr(library, name) for name, library in names.items()}
    calls["dlopen"].restype = calls["dlsym"].restype = ctypes.c_void_p
    calls["dlopen"].argtypes = [ctypes.c_char_p, ctypes.c_int]
    calls["dlsym"].argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    return calls


def _ok(status, what):
    if status:
        raise RuntimeError("%s gave error %d" % (what, status))


def _create_context(ctypes, calls, device):
    """Do what the framework's first call would do: the same primary context, default flags."""
    count, ordinal, mode, context = (ctypes.c_int() for _ in range(4))
    context = ctypes.c_void_p()
    _ok(calls["cuInit"](0), "cuInit")
    _ok(calls["cuDeviceGetCount"](ctypes.byref(count)), "cuDeviceGetCount")
    if device >= count.value:
        raise RuntimeError("device %d of the recorded run is not there" % device)
    _ok(calls["cuDeviceGet"](ctypes.byref(ordinal), device), "cuDeviceGet")
    _ok(
        calls["cuDeviceGetAttribute"](ctypes.byref(mode), COMPUTE_MODE, ordinal),
        "cuDeviceGetAttribute",
    )
    if mode.value:
        raise RuntimeError("the card is not in default compute mode")
    _ok(
        calls["cuDevicePrimaryCtxRetain"](ctypes.byref(context), ordinal),
        "cuDevicePrimaryCtxRetain",
    )
    _ok(calls["cuCtxSetCurrent"](context), "cuCtxSetCurrent")


def _small_products(ctypes, calls, libraries):
    """Load cuBLAS, make a handle and multiply, so that its modules and kernels are in the context."""
    opened = None
    for path in libraries:
        opened = calls["dlopen"](os.fsencode(path), 0x102)  # RTLD_NOW | RTLD_GLOBAL
        if not opened:
            raise RuntimeError("cannot open %s" % path)
    prototypes = {
        "cublasCreate_v2": [ctypes.c_void_p],
        "cublasDestroy_v2": [ctypes.c_void_p],
        "cublasSgemm_v2": [ctypes.c_void_p]
        + [ctypes.c_int] * 5
        + [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
        + [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int],
    }
    blas = {}
    for name, arguments in prototypes.items():
        address = calls["dlsym"](opened, name.encode())
        if not address:
            raise RuntimeError("%s has no %s" % (libraries[-1], name))
        blas[name] = ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address)
    made = ctypes.c_void_p()
    _ok(blas["cublasCreate_v2"](ctypes.byref(made)), "cublasCreate")
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    for order in SIZES:
        memory = ctypes.c_uint64()
        size = ctypes.c_size_t(8 * order * order)
        _ok(calls["cuMemAlloc_v2"](ctypes.byref(memory), size), "cuMemAlloc")
        status = blas["cublasSgemm_v2"](
            made, 0, 0, order, order, order, ctypes.addressof(one), memory.value, order,
            memory.value, order, ctypes.addressof(zero), memory.value + 4 * order * order, order,
        )  # fmt: skip
        calls["cuCtxSynchronize"]()
        calls["cuMemFree_v2"](memory)
        _ok(status, "cublasSgemm")
    blas["cublasDestroy_v2"](made)
