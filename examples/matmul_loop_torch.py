"""Ten matrix products per run, ten runs, on the best device and then on the CPU (PyTorch).

    coldsoak run -- python matmul_loop_torch.py

The loop reads the clock as most programs do: as soon as the last call has returned. On a GPU that
is before the products are computed, so that the second column waits for the device as well.
"""

import time

import torch

SIZE = 1000
PRODUCTS = 10
RUNS = 10


def products(x):
    for _ in range(PRODUCTS):
        y = x @ x
    return y


def synchronise(device):
    if device != "cpu":
        torch.cuda.synchronize(device)


def run_unsynchronised(x):
    """The mistake is on purpose: on a GPU this times the launches and not the products."""
    start = time.perf_counter()
    products(x)
    return time.perf_counter() - start


def run_synchronised(x, device):
    start = time.perf_counter()
    products(x)
    synchronise(device)
    return time.perf_counter() - start


def measure(device):
    print(f"On {device}:")
    x = torch.rand(SIZE, SIZE, device=device)
    for run in range(RUNS):
        naive = run_unsynchronised(x)
        synchronise(device)
        waited = run_synchronised(x, device)
        print(f"  run {run}: {naive * 1e3:8.2f} ms returned, {waited * 1e3:8.2f} ms computed")


if torch.cuda.is_available():
    measure("cuda:0")
measure("cpu")
