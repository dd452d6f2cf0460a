"""Ten products per run, TensorFlow eager."""
import time

import tensorflow as tf

x = tf.random.uniform([1000, 1000])
for _ in range(8):
    start = time.perf_counter()
    for _ in range(10):
        y = tf.matmul(x, x)
    y[0, 0].numpy()
    print(f"{time.perf_counter() - start:.6f}")
