"""One reduction of a product per shape, each shape timed once, then once more (PyTorch).

    coldsoak run -- python sweep_torch.py

``item()`` copies the sum to the host, which waits for the device: no other synchronisation is
needed. Larger shapes: ``python sweep_torch.py 50 100 500 1000 10000``.
"""

import sys
import time

import torch

SIZES = [int(text) for text in sys.argv[1:]] or [50, 100, 500, 1000]


def timed(matrix):
    start = time.perf_counter()
    (matrix @ matrix.T).sum().item()
    return time.perf_counter() - start


devices = ["cpu"] + (["cuda:0"] if torch.cuda.is_available() else [])
for device in devices:
    for size in SIZES:
        matrix = torch.rand(size, size, device=device)
        first, again = (timed(matrix) for _ in range(2))
        print(f"{size} × {size} on {device}: {first:.4f} s, again {again:.4f} s")
