"""K72: forty operations once each: each loads its kernel at its first launch. Without: a second round."""
import os
import time

import torch

x = torch.rand(256, 256, device="cuda")
NAMES = (
    "sin cos tan exp log sqrt abs neg floor ceil round sign sigmoid tanh erf rsqrt reciprocal trunc "
    "log1p expm1 sinh cosh asinh atan square relu cumsum cumprod sort argsort sum mean std var prod "
    "max min argmax argmin norm"
).split()


def each():
    for name in NAMES:
        call = getattr(torch, name)
        call(x, 0) if name in {"cumsum", "cumprod"} else call(x)
    torch.cuda.synchronize()


if os.environ.get("VICTIM_WITHOUT"):
    each()
start = time.perf_counter()
each()
print(f"{time.perf_counter() - start:.6f}")
