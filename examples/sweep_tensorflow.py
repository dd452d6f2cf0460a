"""One reduction of a product per shape and device, each shape timed once (TensorFlow 2).

    coldsoak run --rerun 2 -- python sweep_tensorflow.py

Each line is a first run of its shape: the graph is traced and, with XLA, compiled inside the timed
stretch. ``--rerun 2`` executes the script a second time in the same process, as one re-runs a cell
of a notebook; what was paid once per process is gone then, what is paid per shape may stay. Larger
shapes: ``python sweep_tensorflow.py 50 100 500 1000 10000``.
"""

import sys
from datetime import datetime

import tensorflow as tf

SIZES = [int(text) for text in sys.argv[1:]] or [50, 100, 500, 1000]


def reduced_product(matrix):
    return tf.reduce_sum(tf.matmul(matrix, matrix, transpose_b=True))


COMPILERS = {
    "graph": tf.function(reduced_product),
    "xla": tf.function(reduced_product, jit_compile=True),
}

devices = ["/CPU:0"] + (["/GPU:0"] if tf.config.list_physical_devices("GPU") else [])
for device in devices:
    for compiler, function in COMPILERS.items():
        for size in SIZES:
            shape = (size, size)
            with tf.device(device):
                matrix = tf.random.uniform(shape)
                start_time = datetime.now()  # noqa: DTZ005
                result = function(matrix).numpy()
                elapsed_time = datetime.now() - start_time  # noqa: DTZ005
            print(f"{shape} on {device} with {compiler}: {elapsed_time.total_seconds():.4f} s")
