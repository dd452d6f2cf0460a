"""The primary context is created; without: it exists."""
# cause: context_create
import ctypes
import os
import time

cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
context = ctypes.c_void_p()
if os.environ.get("VICTIM_WITHOUT"):
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
start = time.perf_counter()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
print(f"{time.perf_counter() - start:.6f}")
