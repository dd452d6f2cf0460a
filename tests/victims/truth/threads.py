"""Fifteen hundred threads are started, and take turns with the one that starts them; without: they run already."""
# cause: thread_start, run_queue
import _thread
import os
import time

COUNT = 1500
go = _thread.allocate_lock()
go.acquire()


def start_all():
    for _ in range(COUNT):
        _thread.start_new_thread(go.acquire, ())


if os.environ.get("VICTIM_WITHOUT"):
    start_all()
    time.sleep(0.2)
start = time.perf_counter()
if not os.environ.get("VICTIM_WITHOUT"):
    start_all()
total = sum(i * i for i in range(100_000))
print(f"{time.perf_counter() - start:.6f}")
