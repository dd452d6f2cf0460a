"""A module of 400 kernels is loaded eagerly; without: it is loaded."""
# cause: module_load
import os
import time

os.environ["CUDA_MODULE_LOADING"] = "EAGER"
import cupy
from _cuda_source import cubin, many

code = cubin(many(400, 60))
cupy.zeros(8)
cupy.cuda.Device().synchronize()
module = cupy.cuda.function.Module()
if os.environ.get("VICTIM_WITHOUT"):
    module.load(code)
start = time.perf_counter()
if not os.environ.get("VICTIM_WITHOUT"):
    module.load(code)
print(f"{time.perf_counter() - start:.6f}")
