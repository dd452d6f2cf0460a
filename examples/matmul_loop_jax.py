"""Ten matrix products per run, ten runs, on the best device and then on the CPU (JAX).

    coldsoak run -- python matmul_loop_jax.py

JAX returns before the products are computed on every platform, the CPU included, so that the
second column waits for the results as well.
"""

import time

import jax

SIZE = 1000
PRODUCTS = 10
RUNS = 10


@jax.jit
def product(x):
    return x @ x


def products(x):
    return [product(x) for _ in range(PRODUCTS)]


def run_unsynchronised(x):
    """The mistake is on purpose: this times the launches and not the products."""
    start = time.perf_counter()
    results = products(x)
    return time.perf_counter() - start, results


def run_synchronised(x):
    start = time.perf_counter()
    jax.block_until_ready(products(x))
    return time.perf_counter() - start


def measure(device):
    print(f"On {device}:")
    x = jax.device_put(jax.random.uniform(jax.random.key(0), (SIZE, SIZE)), device)
    for run in range(RUNS):
        naive, results = run_unsynchronised(x)
        jax.block_until_ready(results)
        waited = run_synchronised(x)
        print(f"  run {run}: {naive * 1e3:8.2f} ms returned, {waited * 1e3:8.2f} ms computed")


best = jax.devices()[0]
cpu = jax.devices("cpu")[0]
for device in dict.fromkeys([best, cpu]):
    measure(device)
