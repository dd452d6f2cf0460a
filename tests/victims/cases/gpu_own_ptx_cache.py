"""K05: a program's own cache keeps PTX, so a hit there still compiles. Without: it keeps machine code."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "truth"))
import cupy
from _cuda_source import cubin, many, ptx

without = bool(os.environ.get("VICTIM_WITHOUT"))
cache = os.path.join(tempfile.gettempdir(), f"coldsoak-case-k05-{without}")
if not os.path.exists(cache):
    with open(cache, "wb") as stream:
        stream.write((cubin if without else ptx)(many(60, 200)))
cupy.zeros(8).sum()
cupy.cuda.Device().synchronize()
start = time.perf_counter()
with open(cache, "rb") as stream:
    code = stream.read()
module = cupy.cuda.function.Module()
module.load(code)
module.get_function("k0")((1,), (32,), (cupy.zeros(32, dtype="f"),))
cupy.cuda.Device().synchronize()
print(f"{time.perf_counter() - start:.6f}")
