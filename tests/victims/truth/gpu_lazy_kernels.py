"""Four hundred kernels are launched for the first time; without: each ran before."""
# cause: lazy_kernel_load
import os
import time

import cupy
from _cuda_source import cubin, many

module = cupy.cuda.function.Module()
data = cupy.zeros(32, dtype=cupy.float32)
module.load(cubin(many(400, 60)))


def launch_all():
    for i in range(400):
        module.get_function(f"k{i}")((1,), (32,), (data,))
    cupy.cuda.Device().synchronize()


if os.environ.get("VICTIM_WITHOUT"):
    launch_all()
start = time.perf_counter()
launch_all()
print(f"{time.perf_counter() - start:.6f}")
