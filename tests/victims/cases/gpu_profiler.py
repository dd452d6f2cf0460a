"""K36: the program starts a profiler of its own, which wants CUPTI too. Without: it does not."""
import os
import time
from contextlib import nullcontext

import torch

a = torch.rand(512, 512, device="cuda")
own = nullcontext() if os.environ.get("VICTIM_WITHOUT") else torch.profiler.profile()
with own:
    for _ in range(5):
        start = time.perf_counter()
        a @ a
        torch.cuda.synchronize()
        print(f"{time.perf_counter() - start:.6f}")
print("done")
