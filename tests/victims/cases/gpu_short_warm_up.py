"""K63: a warm-up of 25 ms before the measured runs; without: two seconds."""
import os
import time

import torch

a = torch.rand(4096, 4096, device="cuda")
torch.cuda.synchronize()
until = time.perf_counter() + (2.0 if os.environ.get("VICTIM_WITHOUT") else 0.025)
while time.perf_counter() < until:
    a @ a
    torch.cuda.synchronize()
for _ in range(200):
    start = time.perf_counter()
    a @ a
    torch.cuda.synchronize()
    print(f"{time.perf_counter() - start:.6f}")
