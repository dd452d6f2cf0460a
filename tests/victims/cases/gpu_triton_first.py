"""K25: ten small Triton kernels; the first of the process is the dear one. Without: eager torch."""
import os
import time

import torch

x = torch.rand(4096, device="cuda")
torch.cuda.synchronize()
if os.environ.get("VICTIM_WITHOUT"):
    for number in range(10):
        start = time.perf_counter()
        x + number
        torch.cuda.synchronize()
        print(f"{time.perf_counter() - start:.6f}")
else:
    import triton
    import triton.language as tl

    @triton.jit
    def shift(x, y, K: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at) + K)

    y = torch.empty_like(x)
    for number in range(10):
        start = time.perf_counter()
        shift[(4,)](x, y, number + 2, 1024)
        torch.cuda.synchronize()
        print(f"{time.perf_counter() - start:.6f}")
