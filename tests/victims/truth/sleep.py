"""A sleep of 200 ms inside the region; without: no sleep."""
# cause: lock_wait
import os
import time

start = time.perf_counter()
if not os.environ.get("VICTIM_WITHOUT"):
    time.sleep(0.2)
total = sum(i * i for i in range(300_000))
print(f"{time.perf_counter() - start:.6f}")
