"""K28: JAX's cache is set after the first array, which old versions ignored; it works now."""
import os
import tempfile
import time

import jax
import jax.numpy as jnp

x = jnp.ones((64, 64))
jax.config.update("jax_compilation_cache_dir", os.path.join(tempfile.gettempdir(), "coldsoak-case-k28"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
start = time.perf_counter()
jax.jit(lambda a: jnp.tanh(a @ a).sum())(x).block_until_ready()
print(f"{time.perf_counter() - start:.6f}")
