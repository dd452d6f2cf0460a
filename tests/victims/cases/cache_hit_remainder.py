"""K29: an unrolled gradient with a full cache: tracing and lowering remain; without: `scan`."""
import os
import tempfile
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_compilation_cache_dir", os.path.join(tempfile.gettempdir(), "coldsoak-case-k29"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
DEPTH = 40


def layer(x, w):
    return jnp.tanh(x @ w) + x


def unrolled(ws, x):
    for index in range(DEPTH):
        x = layer(x, ws[index])
    return x.sum()


def scanned(ws, x):
    return jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0].sum()


loss = scanned if os.environ.get("VICTIM_WITHOUT") else unrolled
ws, x = jnp.ones((DEPTH, 32, 32)) * 0.01, jnp.ones((8, 32))
jax.block_until_ready((ws, x))
step = jax.jit(jax.grad(loss))
for _ in range(5):
    start = time.perf_counter()
    step(ws, x).block_until_ready()
    print(f"{time.perf_counter() - start:.6f}")
