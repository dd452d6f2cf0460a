"""oneDNN plans and generates code for bfloat16 products of forty shapes; without: the primitives are cached."""
# cause: compile, plan_build
import os
import time

import torch

torch.set_num_threads(1)
pairs = [(torch.rand(n, n).bfloat16(), torch.rand(n, n).bfloat16()) for n in range(64, 104)]
if os.environ.get("VICTIM_WITHOUT"):
    for a, b in pairs:
        a @ b
start = time.perf_counter()
for a, b in pairs:
    a @ b
print(f"{time.perf_counter() - start:.6f}")
