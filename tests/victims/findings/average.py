"""A mean over all runs, the first included."""

import statistics
import time

times = []
for run in range(10):
    start = time.perf_counter()
    time.sleep(0.3 if run == 0 else 0.005)
    times.append(time.perf_counter() - start)
print("mean", statistics.mean(times))
