"""XLA runs candidates for a product of 10000; without: autotuning is off."""
# cause: algorithm_search
import os
import time

if os.environ.get("VICTIM_WITHOUT"):
    os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp

x = jnp.ones((10000, 10000), jnp.float32).block_until_ready()
(jnp.ones((64, 64)) @ jnp.ones((64, 64))).block_until_ready()
product = jax.jit(lambda a: a @ a)
for _ in range(3):
    start = time.perf_counter()
    product(x).block_until_ready()
    print(f"{time.perf_counter() - start:.6f}")
