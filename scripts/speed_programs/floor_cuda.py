"""The bare driver: what a first result on this machine takes without any framework."""

import ctypes
import time

cuda = ctypes.CDLL("libcuda.so.1")


def ok(status):
    if status:
        raise SystemExit(f"the driver gave error {status}")


device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
ok(cuda.cuInit(0))
ok(cuda.cuDeviceGet(ctypes.byref(device), 0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
ok(cuda.cuCtxSetCurrent(context))
ok(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4_000_000)))
ok(cuda.cuMemsetD32_v2(memory, 0, ctypes.c_size_t(1_000_000)))
ok(cuda.cuCtxSynchronize())
print("first_result_ns", time.monotonic_ns(), flush=True)
