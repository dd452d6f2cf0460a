"""K30: a jitted function gets a Python number, then an array scalar; without: always the array."""
import os
import time

import jax
import jax.numpy as jnp


@jax.jit
def advance(x):
    for _ in range(30):
        x = jnp.sin(x) * 1.5 + jnp.exp(-x * x)
    return x


typed = jnp.float32(0.5)
values = [typed] * 4 if os.environ.get("VICTIM_WITHOUT") else [0.5, typed, typed, typed]
for value in values:
    start = time.perf_counter()
    advance(value).block_until_ready()
    print(f"{time.perf_counter() - start:.6f}")
