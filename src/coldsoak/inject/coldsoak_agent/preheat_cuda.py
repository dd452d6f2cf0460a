"""The stage of preheat that creates the CUDA context, and the handles of cuBLAS, on a thread."""

import os
import time

from coldsoak_agent.cuda import VARIABLES
from coldsoak_agent.preheat import Unfit, Unwanted, command_line

DEVICE_FILE = "/dev/nvidiactl"
MIG_INSTANCES = "/proc/driver/nvidia/capabilities"
MPS_PIPES = "/tmp/nvidia-mps"  # noqa: S108 - the default of CUDA_MPS_PIPE_DIRECTORY

LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
# Which of several processes of one node this is; each takes a device of its own

HELP = {"-h", "--help", "--version", "-V", "help"}
COMPUTE_MODE = 20  # CU_DEVICE_ATTRIBUTE_COMPUTE_MODE; 0 is the default mode
SIZES = (64, 1024)
# Orders of the small products: one for the handle, one for the kernels of large matrices


def start(running, wanted):
    """Open the driver and resolve its symbols here, call it on a thread."""
    _check_fit(wanted)
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    libc = ctypes.CDLL(None)
    calls = _resolve(ctypes, cuda, libc)
    device = int(wanted["context"][0])
    libraries = wanted.get("library", [])
    running.frozen_env = {name: os.environ.get(name) for name in VARIABLES}

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
    if not os.path.exists(DEVICE_FILE):
        raise Unfit("no NVIDIA device")
    if HELP & set(command_line()[1:]):
        raise Unwanted
    recorded = dict(entry.partition("=")[::2] for entry in wanted.get("env", ()))
    for name in VARIABLES:
        now = os.environ.get(name)
        if now != recorded.get(name):
            raise Unfit(
                "%s was %s in the recorded run and is %s here" % (name, recorded.get(name), now)
            )
    for name in LOCAL_RANKS:
        if os.environ.get(name, "0") != "0":
            raise Unfit("%s is %s: this process has a device of its own" % (name, os.environ[name]))
    if os.path.exists(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", MPS_PIPES) + "/control"):
        raise Unfit("the card is shared by MPS")
    if _has_mig_instances():
        raise Unfit("a card is cut into MIG instances")


def _has_mig_instances():
    for card in _names(MIG_INSTANCES):
        if any(name.startswith("gi") for name in _names("%s/%s/mig" % (MIG_INSTANCES, card))):
            return True
    return False


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


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
        raise Unfit("device %d of the recorded run is not there" % device)
    _ok(calls["cuDeviceGet"](ctypes.byref(ordinal), device), "cuDeviceGet")
    _ok(
        calls["cuDeviceGetAttribute"](ctypes.byref(mode), COMPUTE_MODE, ordinal),
        "cuDeviceGetAttribute",
    )
    if mode.value:
        raise Unfit("the card is not in default compute mode")
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
