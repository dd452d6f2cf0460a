"""Tells whether this process has started what a forked child cannot use."""

import os
import sys

NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED


def touched():
    """Return what was started, in words, or an empty text when a fork is right."""
    for look in (_driver, _torch, _jax, _tensorflow):
        try:
            why = look()
        except Exception:
            why = ""  # another version keeps this elsewhere
        if why:
            return why
    return ""


def _driver():
    """Ask a driver library that is in the process anyway; cuInit is not called."""
    with open("/proc/self/maps") as file:
        paths = {line.split(None, 5)[5].strip() for line in file if "/libcuda.so" in line}
    for path in paths:
        import ctypes

        count = ctypes.c_int()
        driver = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        if driver.cuDeviceGetCount(ctypes.byref(count)) != NOT_INITIALIZED:
            hint = "; torch.cuda.is_available() does without, PYTORCH_NVML_BASED_CUDA_CHECK=1 set"
            return "CUDA is started (cuInit was called)" + (hint if "torch" in sys.modules else "")
    return ""


def _torch():
    module = sys.modules.get("torch")
    if module is not None and module.cuda.is_initialized():
        return "torch has started CUDA"
    return ""


def _jax():
    module = sys.modules.get("jax._src.xla_bridge")
    if module is not None and module._backends:
        return "jax has started its backends (%s)" % ", ".join(sorted(module._backends))
    return ""


def _tensorflow():
    module = sys.modules.get("tensorflow.python.eager.context")
    made = module and module._context
    if made is not None and getattr(made, "_context_handle", None) is not None:
        return "TensorFlow has started its devices"
    return ""
