"""A Triton kernel, cache empty."""
import os
import tempfile
import time

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(c + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


size = 1 << 20
a, b = torch.rand(size, device="cuda"), torch.rand(size, device="cuda")
c = torch.empty_like(a)
for _ in range(8):
    start = time.perf_counter()
    add[(size // 1024,)](a, b, c, size, block=1024)
    torch.cuda.synchronize()
    print(f"{time.perf_counter() - start:.6f}")
