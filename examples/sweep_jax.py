"""One reduction of a product per shape, each shape timed once, then once more (JAX).

    coldsoak run -- python sweep_jax.py

Every new shape is compiled inside its first timed stretch; the second call finds the executable.
Larger shapes: ``python sweep_jax.py 50 100 500 1000 10000``.
"""

import sys
import time

import jax

SIZES = [int(text) for text in sys.argv[1:]] or [50, 100, 500, 1000]


@jax.jit
def reduced_product(matrix):
    return (matrix @ matrix.T).sum()


def timed(matrix):
    start = time.perf_counter()
    reduced_product(matrix).block_until_ready()
    return time.perf_counter() - start


for device in dict.fromkeys([jax.devices("cpu")[0], jax.devices()[0]]):
    for size in SIZES:
        shape = (size, size)
        matrix = jax.device_put(jax.random.uniform(jax.random.key(0), shape), device)
        matrix.block_until_ready()
        first, again = (timed(matrix) for _ in range(2))
        print(f"{size} × {size} on {device}: {first:.4f} s, again {again:.4f} s")
