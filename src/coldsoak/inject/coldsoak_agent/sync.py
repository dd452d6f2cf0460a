"""Waits until the device has done all that was queued, with what the process already has loaded."""

import sys
from time import monotonic_ns

__all__ = ["wait_devices"]

_RTLD_NOLOAD = 0x4


def wait_devices():
    """Wait for every device that this process uses; return CLOCK_MONOTONIC ns of that moment.

    CUDA: each device whose primary context is active is synchronised through the driver that the
    program has mapped. JAX: every live array is waited for. Nothing is imported or initialised.
    """
    _guarded(_wait_jax)
    _guarded(_wait_cuda)
    return monotonic_ns()


def _guarded(wait):
    try:
        wait()
    except Exception as error:
        _tell(wait.__name__, error)


_told = set()


def _tell(what, error):
    if what not in _told:
        _told.add(what)
        from coldsoak_agent.core import agent

        agent.note("sync_failed", "%s: %r" % (what, error))


def _wait_jax():
    jax = sys.modules.get("jax")
    live_arrays = getattr(jax, "live_arrays", None)
    if live_arrays is None or not _jax_has_started():
        return
    for array in live_arrays():
        if not array.is_deleted():
            array.block_until_ready()


def _jax_has_started():
    """Tell whether a JAX backend exists: asking for live arrays would start one."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bool(getattr(bridge, "_backends", None))


def _wait_cuda():
    driver = _driver()
    if driver is None:
        return
    from ctypes import byref, c_int, c_uint, c_void_p

    count = c_int()
    if driver.cuDeviceGetCount(byref(count)):
        return  # the program has not initialised CUDA
    for device in range(count.value):
        flags, active, context = c_uint(), c_int(), c_void_p()
        state = driver.cuDevicePrimaryCtxGetState(device, byref(flags), byref(active))
        if state or not active.value:
            continue
        if driver.cuDevicePrimaryCtxRetain(byref(context), device):
            continue
        try:
            _synchronize(driver, context)
        finally:
            driver.cuDevicePrimaryCtxRelease_v2(device)


def _synchronize(driver, context):
    from ctypes import byref, c_void_p

    if driver.cuCtxPushCurrent_v2(context):
        return
    try:
        status = driver.cuCtxSynchronize()
        if status:
            raise RuntimeError("cuCtxSynchronize returned %d" % status)
    finally:
        previous = c_void_p()
        driver.cuCtxPopCurrent_v2(byref(previous))


def _driver():
    """Return libcuda where the program has loaded it; never load it."""
    if not _is_mapped():
        return None
    import ctypes

    try:
        return ctypes.CDLL("libcuda.so.1", mode=_RTLD_NOLOAD | ctypes.DEFAULT_MODE)
    except OSError:
        return None


def _is_mapped():
    """Tell whether libcuda can be there at all, without importing ctypes for nothing."""
    names = ("torch", "tensorflow", "jaxlib", "cupy", "numba", "onnxruntime", "ctypes", "cuda")
    return any(name in sys.modules for name in names)
