"""Triton compiles six kernels with an empty cache; without: its cache is full."""
# cause: compile, child_process
import os
import tempfile
import time

filled = os.path.join(tempfile.gettempdir(), "coldsoak-victim-tritoncache")
os.environ["TRITON_CACHE_DIR"] = filled if os.environ.get("VICTIM_WITHOUT") else tempfile.mkdtemp()
import torch
import triton
import triton.language as tl


@triton.jit
def scale(p, n, factor: tl.constexpr, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(p + at, tl.load(p + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def touch(p, block: tl.constexpr):
    tl.store(p + tl.arange(0, block), 0.0)


x = torch.ones(4096, device="cuda")
touch[(1,)](x, block=128)
torch.cuda.synchronize()
start = time.perf_counter()
for factor in range(2, 8):
    scale[(4,)](x, 4096, factor=factor, block=1024)
torch.cuda.synchronize()
print(f"{time.perf_counter() - start:.6f}")
