"""K10: cudnn.benchmark with changing sizes; without: the flag is off."""
import os
import time

import torch

torch.backends.cudnn.benchmark = not os.environ.get("VICTIM_WITHOUT")
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3, padding=1)
).cuda()
net(torch.rand(1, 3, 32, 32, device="cuda"))
torch.cuda.synchronize()
for visit in range(3):
    for size in range(96, 256, 16):
        image = torch.rand(4, 3, size, size, device="cuda")
        torch.cuda.synchronize()
        start = time.perf_counter()
        net(image)
        torch.cuda.synchronize()
        print(f"{size} {time.perf_counter() - start:.6f}")
