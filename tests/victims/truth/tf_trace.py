"""tf.function traces its Python body; without: it was traced before the clock starts."""
# cause: trace
import gc
import os
import time

import tensorflow as tf

gc.disable()  # a cause of its own, with a victim of its own


@tf.function
def chain(x):
    for i in range(150):
        x = tf.tanh(x + float(i))
    return x


x = tf.ones((8, 8))
if os.environ.get("VICTIM_WITHOUT"):
    chain.get_concrete_function(x)
start = time.perf_counter()
concrete = chain.get_concrete_function(x)
print(f"{time.perf_counter() - start:.6f}")
