"""A CUDA graph of 2,000 kernels is captured and instantiated; without: it exists and is replayed."""
# cause: plan_build, kernel_launch
import os
import time

import torch

x = torch.ones(4096, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3):
        x.add_(1.0)
torch.cuda.synchronize()


def capture():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(2000):
            x.add_(1.0)
    return graph


graph = capture() if os.environ.get("VICTIM_WITHOUT") else None
start = time.perf_counter()
graph = graph or capture()
graph.replay()
torch.cuda.synchronize()
print(f"{time.perf_counter() - start:.6f}")
