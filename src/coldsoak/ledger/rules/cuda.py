"""CUDA driver and runtime calls, CUPTI overhead and JIT records, device operations.

The names are those of the CUDA 12 and 13 driver and runtime and of CUPTI's enumerations, with or
without the version suffix that CUPTI adds (``cudaMalloc_v3020``).
"""

from __future__ import annotations

import re
from functools import cache

from coldsoak.ledger.rules.base import Kind, Verdict
from coldsoak.model.causes import Cause

__all__ = [
    "ALLOCATES",
    "CHECKS_CANDIDATE",
    "LOADS_MODULE",
    "MAY_CREATE_CONTEXT_NS",
    "POOL_BYTES",
    "POOL_SHARE",
    "api",
    "api_cause_of_symbol",
    "api_name",
    "device_cause",
    "jit",
    "overhead",
]

POOL_SHARE = 0.25
"""An allocation of this share of the card's memory or more is a framework's pool."""
POOL_BYTES = 4 << 30
"""The same limit in bytes where the card's memory is not known."""
MAY_CREATE_CONTEXT_NS = 10_000_000
"""The first bookkeeping call of the runtime that takes this long created the primary context."""

ALLOCATES = re.compile(
    r"^(cudaMalloc|cudaMallocPitch|cudaMalloc3D|cudaMallocManaged|cudaMallocAsync"
    r"|cuMemAlloc|cuMemAllocPitch|cuMemAllocManaged|cuMemAllocAsync|cuMemCreate)$"
)
LOADS_MODULE = re.compile(r"^(cuLibraryLoad|cuModuleLoad|RUNTIME_TRIGGERED_MODULE_LOADING)")

_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")

_API: tuple[tuple[str, Cause, Kind], ...] = (
    (
        (
            r"cuInit|cudaGetDeviceCount|cuDeviceGetCount|cuDriverGetVersion|cudaDriverGetVersion"
            r"|cudaRuntimeGetVersion|cuGetProcAddress|cuGetExportTable|cuModuleGetLoadingMode|cudaGetDriverEntryPoint\w*"
            r"|cuDeviceGet|cuDeviceGet(Name|Uuid|Attribute|LUID|ByPCIBusId|PCIBusId|P2PAttribute)|cuDeviceTotalMem|cuDeviceCanAccessPeer"
            r"|cuDeviceGet\w*|cuDeviceComputeCapability|cudaGetDeviceProperties|cudaDeviceGetAttribute|cudaDeviceGet\w+|cudaDeviceCanAccessPeer"
        ),
        Cause.DRIVER_INIT,
        Kind.FIXED,
    ),
    (
        (
            r"cuDevicePrimaryCtx(Retain|SetFlags|Reset)|cuCtxCreate|cudaSetDevice|cudaInitDevice|cudaDeviceReset|cudaSetDeviceFlags"
            r"|cu(da)?Ctx(Destroy|EnablePeerAccess)|cudaDeviceEnablePeerAccess|cuCtxEnablePeerAccess"
            r"|cuStreamCreate\w*|cudaStreamCreate\w*|cuEventCreate|cudaEventCreate\w*|cuGreenCtxCreate"
        ),
        Cause.CONTEXT_CREATE,
        Kind.FIXED,
    ),
    (
        r"cu(Module|Library)(Load|Unload)\w*|cudaLibrary(Load|Unload)\w*",
        Cause.MODULE_LOAD,
        Kind.FIXED,
    ),
    (
        (
            r"cuModule(GetFunction|GetGlobal|GetTexRef|EnumerateFunctions|GetFunctionCount)|cuLibrary(GetKernel|GetGlobal|GetModule|EnumerateKernels|GetKernelCount)"
            r"|cuKernel\w+|cuFunc\w+|cudaFunc\w+|cudaGetFuncBySymbol|cudaGetSymbol\w+|cudaGetKernel|cudaLibraryGet\w+"
        ),
        Cause.LAZY_KERNEL_LOAD,
        Kind.FIXED,
    ),
    (r"cuLink\w+", Cause.PTX_JIT, Kind.FIXED),
    (
        (
            r"cuMem(HostAlloc|AllocHost|FreeHost|HostRegister|HostUnregister|HostGet\w+)"
            r"|cuda(HostAlloc|MallocHost|FreeHost|HostRegister|HostUnregister|HostGet\w+)"
        ),
        Cause.PINNED_ALLOC,
        Kind.FIXED,
    ),
    (
        r"cuMem(AddressReserve|AddressFree|Create|Map|Unmap|Release|SetAccess)|cu(da)?MemPool\w*|cuDevice(Get|Set)\w*MemPool",
        Cause.POOL_RESERVE,
        Kind.FIXED,
    ),
    (
        r"cuda(Malloc|Free|Malloc3D|MemGetInfo)\w*|cuMem(Alloc|Free|GetInfo)\w*",
        Cause.DEVICE_ALLOC,
        Kind.FIXED,
    ),
    (
        r"cuMemcpyHtoD\w*|cuMemcpyHtoA\w*|cudaMemcpyToSymbol\w*|cudaMemcpyToArray\w*|cu(da)?MemPrefetch\w*",
        Cause.HOST_TO_DEVICE,
        Kind.FIXED,
    ),
    (
        r"cuMemcpyDtoH\w*|cuMemcpyAtoH\w*|cudaMemcpyFromSymbol\w*|cudaMemcpyFromArray\w*",
        Cause.DEVICE_TO_HOST,
        Kind.SYNC,
    ),
    (r"cuda\w*Synchronize|cu(Ctx|Stream|Event)Synchronize", Cause.KERNEL_LAUNCH, Kind.SYNC),
    (
        (
            r"cu(da)?Graph(Instantiate|Create|Add|Clone|Upload|ExecUpdate|ExecDestroy|Destroy|Kernel\w*|Get)\w*"
            r"|cu(da)?Stream(BeginCapture|EndCapture|UpdateCaptureDependencies)\w*"
        ),
        Cause.PLAN_BUILD,
        Kind.FIXED,
    ),
)
_API_RULES = tuple(
    (re.compile(rf"(?:{names})$"), Verdict(cause, kind)) for names, cause, kind in _API
)

_BOOKKEEPING = {
    Cause.KERNEL_LAUNCH,
    Cause.DEVICE_ALLOC,
    Cause.DRIVER_INIT,
    Cause.CONTEXT_CREATE,
}

_MEASUREMENT = re.compile(r"CUPTI|ACTIVITY_BUFFER|INSTRUMENTATION|UVM_ACTIVITY_INIT")


@cache
def api_name(name: str) -> str:
    """Return a call's name as documented: without ``_v3020``, ``_ptsz``, ``_ptds``."""
    return _SUFFIX.sub("", name)


@cache
def api(name: str) -> Verdict:
    """Return what a driver or runtime call costs its time for.

    Copies whose direction is not in the name (``cudaMemcpyAsync``) come back as
    ``host_to_device`` and are corrected by the copy that they correlate with.
    """
    plain = api_name(name)
    for pattern, verdict in _API_RULES:
        if pattern.match(plain):
            return verdict
    if re.match(r"cu(da)?Memcpy", plain):
        return Verdict(Cause.HOST_TO_DEVICE, Kind.FIXED)
    return Verdict(Cause.KERNEL_LAUNCH, Kind.FIXED)


def may_create_context(name: str) -> bool:
    """Whether a call of the runtime does little by itself, so that a long one set up the device.

    The driver's own calls never create a context unasked.
    """
    plain = api_name(name)
    if not plain.startswith("cuda") or re.match(r"cuda(GetDeviceCount|.*(Launch|Synch))", plain):
        return False
    return api(name).cause in _BOOKKEEPING


@cache
def overhead(name: str) -> Verdict:
    """Return the cause of an overhead record of CUPTI, by the name of its kind."""
    if _MEASUREMENT.search(name):
        return Verdict(Cause.MEASUREMENT, Kind.COST)
    if "MODULE_LOADING" in name:
        return Verdict(Cause.MODULE_LOAD, Kind.FIXED)
    if "LAZY_FUNCTION" in name:
        return Verdict(Cause.LAZY_KERNEL_LOAD, Kind.FIXED)
    if "COMPILER" in name:
        return Verdict(Cause.PTX_JIT, Kind.FIXED)
    full = "BUFFER_FULL" in name  # the queue is full: the call waits for the device
    return Verdict(Cause.KERNEL_LAUNCH, Kind.SYNC if full else Kind.FIXED)


@cache
def jit(name: str) -> Verdict:
    """Return the cause of a JIT record: reading the driver's cache, or compiling and storing."""
    if re.search(r"load|read|hit|lookup", name, re.IGNORECASE):
        return Verdict(Cause.CACHE_LOOKUP, Kind.FIXED)
    return Verdict(Cause.PTX_JIT, Kind.FIXED)


_DEVICE = {
    "HtoD": Cause.HOST_TO_DEVICE,
    "HtoA": Cause.HOST_TO_DEVICE,
    "DtoH": Cause.DEVICE_TO_HOST,
    "AtoH": Cause.DEVICE_TO_HOST,
    "HtoH": Cause.DEVICE_TO_HOST,  # how CUPTI calls a read of mapped host memory
}


CHECKS_CANDIDATE = re.compile(
    r"RedzoneAllocatorKernel|xla_fp\d*_?comparison|RepeatBufferKernel|stream_executor.*delay_kernel"
)
"""Kernels that XLA runs around the candidates of a search, and at no other time."""


def device_cause(kind: str) -> Cause:
    """Return the cause of device work by its kind: a copy's direction, else ``device_compute``."""
    return _DEVICE.get(kind, Cause.DEVICE_COMPUTE)


_SYMBOL = re.compile(r"^(cuda[A-Z]\w+|cu[A-Z][a-z]\w+)$")


def api_cause_of_symbol(symbol: str) -> Cause | None:
    """Return the cause when a host frame is an exported call of the driver or the runtime."""
    return api(symbol).cause if _SYMBOL.match(symbol) else None
