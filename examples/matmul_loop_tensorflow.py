"""Ten matrix products per run, ten runs, on the best device and then on the CPU (TensorFlow 2).

    coldsoak run -- python matmul_loop_tensorflow.py

The loop reads the clock as most programs do: as soon as the last call has returned. On a GPU that
is before the products are computed, so that the second column waits for the device as well.
"""

import time

import tensorflow as tf

SIZE = 1000
PRODUCTS = 10
RUNS = 10


def products(x):
    for _ in range(PRODUCTS):
        y = tf.matmul(x, x)
    return y


def run_unsynchronised(x):
    """The mistake is on purpose: on a GPU this times the launches and not the products."""
    start = time.time()
    products(x)
    return time.time() - start


def run_synchronised(x):
    start = time.time()
    products(x)
    tf.test.experimental.sync_devices()
    return time.time() - start


def measure(device):
    print(f"On {device}:")
    with tf.device(device):
        x = tf.random.uniform([SIZE, SIZE])
        for run in range(RUNS):
            naive = run_unsynchronised(x)
            tf.test.experimental.sync_devices()
            waited = run_synchronised(x)
            print(f"  run {run}: {naive * 1e3:8.2f} ms returned, {waited * 1e3:8.2f} ms computed")


if tf.config.list_physical_devices("GPU"):
    measure("/GPU:0")
measure("/CPU:0")
