"""K16: torch.compile with both caches full; without: eager."""
import os
import time

import torch

torch.set_num_threads(1)


def steps(x):
    for _ in range(6):
        x = torch.sin(x) * 1.5 + x
        x = torch.relu(x) - x.mean()
    return x


run = steps if os.environ.get("VICTIM_WITHOUT") else torch.compile(steps)
x = torch.rand(256, 256)
for _ in range(6):
    start = time.perf_counter()
    run(x)
    print(f"{time.perf_counter() - start:.6f}")
