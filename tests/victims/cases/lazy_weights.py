"""K51: "loaded" at once, read at the first use; without: the file is in memory."""
import os
import tempfile
import time

import numpy as np

file = os.path.join(tempfile.gettempdir(), "coldsoak-case-k51.npy")
if not os.path.exists(file):
    np.save(file, np.random.default_rng(0).random((32, 1024, 1024), dtype=np.float32))
descriptor = os.open(file, os.O_RDONLY)
os.fsync(descriptor)
if not os.environ.get("VICTIM_WITHOUT"):
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
else:
    while os.read(descriptor, 1 << 22):
        pass
os.close(descriptor)
start = time.perf_counter()
weights = np.load(file, mmap_mode="r")
print(f"loaded {time.perf_counter() - start:.6f}")
for _ in range(3):
    start = time.perf_counter()
    total = float(weights.sum())
    print(f"used {time.perf_counter() - start:.6f}")
