"""TensorFlow compiles a function with XLA; without: it was compiled before the clock starts."""
# cause: compile, trace
import os
import time

import tensorflow as tf


@tf.function(jit_compile=True)
def chain(x):
    for i in range(20):
        x = tf.tanh(tf.matmul(x, x) + float(i))
    return x


x = tf.ones((64, 64))
if os.environ.get("VICTIM_WITHOUT"):
    chain(x).numpy()
start = time.perf_counter()
chain(x).numpy()
print(f"{time.perf_counter() - start:.6f}")
