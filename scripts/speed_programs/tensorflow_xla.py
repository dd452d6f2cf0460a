"""A function that TensorFlow compiles with XLA, on the GPU if there is one."""

import time

import tensorflow as tf


@tf.function(jit_compile=True)
def multiply(a):
    return tf.reduce_sum(tf.tanh(a @ a) + tf.sin(a))


def product():
    start = time.perf_counter()
    total = float(multiply(tf.fill((1000, 1000), 0.5)))
    return time.perf_counter() - start, total


first, total = product()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [product()[0] for _ in range(10)]
print("seconds", first, *later)
print("sum", total, "on", "gpu" if tf.config.list_physical_devices("GPU") else "cpu")
