"""K57: three workers deliver in bursts, so every third batch is slow; without: no workers."""
import os
import time

import torch


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        time.sleep(0.25 - time.monotonic() % 0.25)  # all three are done at once
        return torch.zeros(4)


if __name__ == "__main__":
    workers = 0 if os.environ.get("VICTIM_WITHOUT") else 3
    batches = iter(torch.utils.data.DataLoader(Slow(), num_workers=workers, prefetch_factor=2 if workers else None))
    for _ in range(24):
        start = time.perf_counter()
        next(batches)
        print(f"{time.perf_counter() - start:.6f}")
