"""XLA compiles a chain of layers; without: the executable was made ahead of time."""
# cause: compile
import os
import time

import jax
import jax.numpy as jnp


def chain(x):
    for i in range(60):
        x = jnp.tanh(x @ x) + i
    return x


x = jnp.ones((64, 64)).block_until_ready()
lowered = jax.jit(chain).lower(x)
compiled = lowered.compile() if os.environ.get("VICTIM_WITHOUT") else None
start = time.perf_counter()
(compiled or lowered.compile())(x).block_until_ready()
print(f"{time.perf_counter() - start:.6f}")
