"""K74: the call returns at once and the copy waits; without: the result is waited for."""
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((1400, 1400))
forward = jax.jit(lambda a: a @ a @ a @ a)
for _ in range(6):
    start = time.perf_counter()
    y = forward(x)
    if os.environ.get("VICTIM_WITHOUT"):
        y.block_until_ready()
    print(f"forward {time.perf_counter() - start:.6f}")
    start = time.perf_counter()
    host = np.asarray(y)
    print(f"copy {time.perf_counter() - start:.6f}")
