"""K09: a depthwise convolution in the main thread, then in new threads; without: always in one."""
import os
import threading
import time

import torch

layer = torch.nn.Conv2d(64, 64, 3, padding=1, groups=64).cuda()
x = torch.rand(8, 64, 56, 56, device="cuda")


def call():
    start = time.perf_counter()
    layer(x)
    torch.cuda.synchronize()
    print(f"{threading.current_thread().name} {time.perf_counter() - start:.6f}")


def calls():
    for _ in range(4):
        call()


calls()
for _ in range(4):
    if os.environ.get("VICTIM_WITHOUT"):
        calls()
    else:
        thread = threading.Thread(target=calls)
        thread.start()
        thread.join()
