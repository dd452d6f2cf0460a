"""Four hundred threads are started; without: they run already."""
# cause: thread_start
import os
import threading
import time

COUNT = 400
go = threading.Event()
workers = [threading.Thread(target=go.wait) for _ in range(COUNT)]
if os.environ.get("VICTIM_WITHOUT"):
    for worker in workers:
        worker.start()
start = time.perf_counter()
for worker in workers:
    if worker.ident is None:
        worker.start()
total = sum(i * i for i in range(100_000))
print(f"{time.perf_counter() - start:.6f}")
go.set()
for worker in workers:
    worker.join()
