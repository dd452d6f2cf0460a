"""1 GiB of page-locked memory is allocated; without: it was allocated before."""
# cause: pinned_alloc
import os
import time

import torch

x = torch.ones(8, device="cuda")
torch.empty(8, pin_memory=True)
torch.cuda.synchronize()
buffer = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True) if os.environ.get("VICTIM_WITHOUT") else None
start = time.perf_counter()
if buffer is None:
    buffer = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
print(f"{time.perf_counter() - start:.6f}")
