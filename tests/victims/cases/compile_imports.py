"""K19: torch.compile imports its compiler in the decorator; without: it is imported before."""
import os
import time

import torch

torch.set_num_threads(1)
if os.environ.get("VICTIM_WITHOUT"):
    import torch._dynamo
    import torch._inductor.compile_fx


def double(x):
    return x + x


start = time.perf_counter()
compiled = torch.compile(double, backend="eager")
print(f"decorator {time.perf_counter() - start:.6f}")
x = torch.rand(8)
for _ in range(4):
    start = time.perf_counter()
    compiled(x)
    print(f"call {time.perf_counter() - start:.6f}")
