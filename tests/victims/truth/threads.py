"""Four hundred threads are started; without: they run already and only take an item each."""
# cause: thread_start
import os
import threading
import time

COUNT = 400
go = threading.Event()


def start_all():
    workers = [threading.Thread(target=go.wait) for _ in range(COUNT)]
    for worker in workers:
        worker.start()
    return workers


early = start_all() if os.environ.get("VICTIM_WITHOUT") else None
start = time.perf_counter()
workers = early or start_all()
total = sum(i * i for i in range(100_000))
print(f"{time.perf_counter() - start:.6f}")
go.set()
for worker in workers:
    worker.join()
