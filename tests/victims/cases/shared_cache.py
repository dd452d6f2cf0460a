"""K26: three processes compile the same programs into one empty cache; without: one after another."""
import os
import subprocess
import sys
import tempfile
import time

CHILD = """
import jax, jax.numpy as jnp
for n in (3, 5, 7):
    jax.jit(lambda x: jnp.tanh(x @ x).sum())(jnp.ones((n, n))).block_until_ready()
"""
environment = {
    **os.environ,
    "JAX_COMPILATION_CACHE_DIR": tempfile.mkdtemp(),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}
start = time.perf_counter()
running = []
for _ in range(3):
    running.append(subprocess.Popen([sys.executable, "-c", CHILD], env=environment))
    if os.environ.get("VICTIM_WITHOUT"):
        running[-1].wait()
for child in running:
    child.wait()
print(f"{time.perf_counter() - start:.6f}")
