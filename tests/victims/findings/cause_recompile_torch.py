"""torch.compile specialises on a Python value that changes; without: it stays."""
import os
import time

import torch


@torch.compile(backend="eager", dynamic=False)
def scaled(x):
    for _ in range(20):
        x = torch.sin(x) + 1
    return x


sizes = [8] * 4 if os.environ.get("VICTIM_WITHOUT") else [8, 9, 10, 11]
for size in sizes:
    x = torch.ones(size)
    start = time.perf_counter()
    scaled(x)
    print(time.perf_counter() - start)
