"""Ten products per run, PyTorch eager, the device waited for."""
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.rand(1000, 1000, device=device)
for _ in range(8):
    start = time.perf_counter()
    for _ in range(10):
        y = x @ x
    if device == "cuda":
        torch.cuda.synchronize()
    print(f"{time.perf_counter() - start:.6f}")
