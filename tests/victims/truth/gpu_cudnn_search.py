"""cuDNN tries its algorithms for a convolution; without: cudnn.benchmark is off."""
# cause: algorithm_search
import os
import time

import torch

torch.backends.cudnn.benchmark = not os.environ.get("VICTIM_WITHOUT")
x = torch.rand(64, 64, 128, 128, device="cuda")
layers = [torch.nn.Conv2d(64, n, 3, padding=1).cuda() for n in (64, 96, 128)]
small = torch.nn.Conv2d(64, 64, 3, padding=1).cuda()
with torch.no_grad():
    small(x[:1])
    torch.cuda.synchronize()
    for _ in range(3):
        start = time.perf_counter()
        for layer in layers:
            layer(x)
        torch.cuda.synchronize()
        print(f"{time.perf_counter() - start:.6f}")
