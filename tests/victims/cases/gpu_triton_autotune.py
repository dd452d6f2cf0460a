"""K22: Triton tunes in each process; without: TRITON_CACHE_AUTOTUNING keeps the choice."""
import os
import time

if os.environ.get("VICTIM_WITHOUT"):
    os.environ["TRITON_CACHE_AUTOTUNING"] = "1"
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w) for b in (256, 512, 1024, 2048) for w in (2, 4, 8)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


n = 1 << 22
x = torch.rand(n, device="cuda")
y = torch.empty_like(x)
torch.cuda.synchronize()
for _ in range(4):
    start = time.perf_counter()
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    torch.cuda.synchronize()
    print(f"{time.perf_counter() - start:.6f}")
