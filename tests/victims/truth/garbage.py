"""The collector walks a large heap many times; without: collection is off."""
# cause: python_gc
import gc
import os
import time

heap = [[i, {}] for i in range(400_000)]
if os.environ.get("VICTIM_WITHOUT"):
    gc.disable()
start = time.perf_counter()
for _ in range(10):
    if gc.isenabled():
        gc.collect()
total = sum(i * i for i in range(300_000))
print(f"{time.perf_counter() - start:.6f}")
