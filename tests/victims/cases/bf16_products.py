"""K44: the first bfloat16 product of each shape; without: float32, for which nothing is generated."""
import os
import time

import torch

torch.set_num_threads(1)
kind = torch.float32 if os.environ.get("VICTIM_WITHOUT") else torch.bfloat16
torch.rand(8, 8).to(kind)
for size in (96, 128, 160, 192, 256):
    a = torch.rand(size, size).to(kind)
    b = torch.rand(size, size).to(kind)
    for _ in range(4):
        start = time.perf_counter()
        a @ b
        print(f"{size} {time.perf_counter() - start:.6f}")
