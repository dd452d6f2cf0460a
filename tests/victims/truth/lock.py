"""A lock that another thread holds for 250 ms; without: nobody holds it."""
# cause: lock_wait
import os
import threading
import time

lock, held = threading.Lock(), threading.Event()


def holder():
    with lock:
        held.set()
        time.sleep(0.25)


if not os.environ.get("VICTIM_WITHOUT"):
    threading.Thread(target=holder).start()
    held.wait()
start = time.perf_counter()
with lock:
    total = sum(i * i for i in range(300_000))
print(f"{time.perf_counter() - start:.6f}")
