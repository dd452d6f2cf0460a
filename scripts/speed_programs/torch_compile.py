"""A small model under torch.compile, on the GPU if there is one."""

import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 16)
).to(DEVICE)
compiled = torch.compile(model)
batch = torch.linspace(0, 1, 32 * 256, device=DEVICE).reshape(32, 256)


def forward():
    start = time.perf_counter()
    with torch.no_grad():
        total = float(compiled(batch).sum())
    return time.perf_counter() - start, total


first, total = forward()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [forward()[0] for _ in range(10)]
print("seconds", first, *later)
print(f"sum {total:.4f} on", DEVICE)
