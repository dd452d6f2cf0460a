"""Many small compiled functions in a JAX process, as set-up code has them."""

import time

import jax
import jax.numpy as jnp


def layer(number):
    return jax.jit(lambda a: jnp.tanh(a @ a.T + number) * jnp.sin(a + number).mean())


layers = [layer(number) for number in range(24)]


def forward():
    start = time.perf_counter()
    x = jnp.linspace(0.0, 1.0, 128 * 128).reshape(128, 128)
    for one in layers:
        x = one(x) / 7
    total = float(x.sum())
    return time.perf_counter() - start, total


first, total = forward()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [forward()[0] for _ in range(10)]
print("seconds", first, *later)
print("sum", total, "on", jax.devices()[0].platform)
