"""The driver compiles PTX with an empty compute cache; without: the cache holds the result."""
# cause: ptx_jit
import os
import tempfile
import time

filled = os.path.join(tempfile.gettempdir(), "coldsoak-victim-computecache")
os.environ["CUDA_CACHE_PATH"] = filled if os.environ.get("VICTIM_WITHOUT") else tempfile.mkdtemp()
import cupy
from _cuda_source import many, ptx

code = ptx(many(60, 200))
cupy.zeros(8)
cupy.cuda.Device().synchronize()
if os.environ.get("VICTIM_WITHOUT"):
    cupy.cuda.function.Module().load(code)
start = time.perf_counter()
module = cupy.cuda.function.Module()
module.load(code)
print(f"{time.perf_counter() - start:.6f}")
