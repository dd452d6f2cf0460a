"""Reads the clock while JAX still computes (K74)."""
import time
import jax, jax.numpy as jnp
x = jnp.ones((1200, 1200))
f = jax.jit(lambda a: a @ a @ a)
for run in range(8):
    start = time.perf_counter()
    y = f(x)
    elapsed = time.perf_counter() - start
    time.sleep(0.3)
