"""JAX reserves three quarters of the card at the first array; without: preallocation is off."""
# cause: pool_reserve
import os
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false" if os.environ.get("VICTIM_WITHOUT") else "true"
import jax

start = time.perf_counter()
jax.devices()
print(f"{time.perf_counter() - start:.6f}")
