"""K01: a library with PTX alone; the driver compiles it. Without: machine code for the card."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "truth"))
os.environ.setdefault("CUDA_CACHE_PATH", tempfile.mkdtemp())
import cupy
from _cuda_source import cubin, many, ptx

source = many(60, 200)
code = cubin(source) if os.environ.get("VICTIM_WITHOUT") else ptx(source)
cupy.zeros(8).sum()
cupy.cuda.Device().synchronize()
start = time.perf_counter()
module = cupy.cuda.function.Module()
module.load(code)
module.get_function("k0")((1,), (32,), (cupy.zeros(32, dtype="f"),))
cupy.cuda.Device().synchronize()
print(f"{time.perf_counter() - start:.6f}")
