"""cuInit; without: it was called before the clock starts."""
# cause: driver_init
import ctypes
import os
import time

cuda = ctypes.CDLL("libcuda.so.1")
if os.environ.get("VICTIM_WITHOUT"):
    cuda.cuInit(0)
start = time.perf_counter()
assert cuda.cuInit(0) == 0
print(f"{time.perf_counter() - start:.6f}")
