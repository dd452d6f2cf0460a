"""cuBLAS makes its handle; without: the handle exists."""
# cause: library_handle, module_load
import os
import time

import torch

x = torch.ones(8, device="cuda")
torch.cuda.synchronize()
if os.environ.get("VICTIM_WITHOUT"):
    torch.cuda.current_blas_handle()
start = time.perf_counter()
torch.cuda.current_blas_handle()
print(f"{time.perf_counter() - start:.6f}")
