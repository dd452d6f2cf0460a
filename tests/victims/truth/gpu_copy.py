"""1 GiB is copied from pageable memory to the card; without: 4 KiB are."""
# cause: host_to_device
import os
import time

import torch

size = 4096 if os.environ.get("VICTIM_WITHOUT") else 1 << 30
target = torch.empty(size, dtype=torch.uint8, device="cuda")
source = torch.ones(size, dtype=torch.uint8)
target[:4096].copy_(source[:4096])
torch.cuda.synchronize()
start = time.perf_counter()
target.copy_(source)
torch.cuda.synchronize()
print(f"{time.perf_counter() - start:.6f}")
