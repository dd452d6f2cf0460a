"""The first 1000 x 1000 product of a PyTorch process, on the GPU if there is one."""

import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def product():
    start = time.perf_counter()
    a = torch.full((1000, 1000), 0.5, device=DEVICE)
    total = float((a @ a).sum())
    return time.perf_counter() - start, total


first, total = product()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [product()[0] for _ in range(10)]
print("seconds", first, *later)
print("sum", total, "on", DEVICE)
