"""The first 1000 x 1000 product of a JAX process, compiled, on the GPU if there is one."""

import time

import jax
import jax.numpy as jnp

multiply = jax.jit(lambda a: (a @ a).sum())


def product():
    start = time.perf_counter()
    total = float(multiply(jnp.full((1000, 1000), 0.5)))
    return time.perf_counter() - start, total


first, total = product()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [product()[0] for _ in range(10)]
print("seconds", first, *later)
print("sum", total, "on", jax.devices()[0].platform)
