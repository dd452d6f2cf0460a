"""A JAX cache with the default thresholds keeps nothing; without: the thresholds are 0."""
import os
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_compilation_cache_dir", os.environ["VICTIM_FOLDER"])
if os.environ.get("VICTIM_WITHOUT"):
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
x = jnp.ones((64, 64))
for run in range(4):
    start = time.perf_counter()
    jax.jit(lambda a: jnp.tanh(a @ a).sum())(x).block_until_ready()
    print(time.perf_counter() - start)
