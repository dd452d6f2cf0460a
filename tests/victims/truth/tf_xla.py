"""TensorFlow compiles a function with XLA; without: it was compiled before the clock starts."""
# cause: compile, trace
import gc
import os
import time

import tensorflow as tf

gc.disable()  # a cause of its own, with a victim of its own


@tf.function(jit_compile=True)
def chain(x):
    for i in range(20):
        x = tf.tanh(tf.matmul(x, x) + float(i))
    return x


@tf.function(jit_compile=True)
def other(x):
    return tf.tanh(tf.matmul(x, x))


x = tf.ones((64, 64))
other(x).numpy()  # XLA's code is in memory, its threads run
if os.environ.get("VICTIM_WITHOUT"):
    chain(x).numpy()
start = time.perf_counter()
chain(x).numpy()
print(f"{time.perf_counter() - start:.6f}")
