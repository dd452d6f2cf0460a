"""A function that XLA compiles, TensorFlow."""
import time

import tensorflow as tf


@tf.function(jit_compile=True)
def product(x):
    return tf.reduce_sum(tf.tanh(tf.matmul(x, x)))


x = tf.random.uniform([1000, 1000])
for _ in range(8):
    start = time.perf_counter()
    product(x).numpy()
    print(f"{time.perf_counter() - start:.6f}")
