"""Ten products per run, CuPy."""
import time

import cupy

x = cupy.ones((1000, 1000), cupy.float32)
for _ in range(8):
    start = time.perf_counter()
    for _ in range(10):
        y = x @ x
    cupy.cuda.Device().synchronize()
    print(f"{time.perf_counter() - start:.6f}")
