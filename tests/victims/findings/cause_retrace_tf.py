"""tf.function is traced for each Python number; without: it gets tensors."""
import os
import time

import tensorflow as tf


@tf.function
def powers(x, n):
    for _ in range(60):
        x = tf.sin(x) * 1.5 + tf.cast(n, tf.float32)
    return x


x = tf.ones((8,))
for n in range(5):
    value = tf.constant(n) if os.environ.get("VICTIM_WITHOUT") else n
    start = time.perf_counter()
    powers(x, value)
    print(time.perf_counter() - start)
