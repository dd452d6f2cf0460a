"""The first 1000 x 1000 product of a TensorFlow process, eager, on the GPU if there is one."""

import time

import tensorflow as tf


def product():
    start = time.perf_counter()
    a = tf.fill((1000, 1000), 0.5)
    total = float(tf.reduce_sum(a @ a))
    return time.perf_counter() - start, total


first, total = product()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [product()[0] for _ in range(10)]
print("seconds", first, *later)
print("sum", total, "on", "gpu" if tf.config.list_physical_devices("GPU") else "cpu")
