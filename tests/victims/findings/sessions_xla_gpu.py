"""Sessions on the CPU and on XLA_GPU, as the second question has them (sizes cut).

With "eager" the products are computed eagerly, as TensorFlow 2 does by itself.
"""

import sys
from datetime import datetime

import tensorflow as tf

shapes = [(50, 50), (100, 100), (200, 200)]
devices = ["/device:CPU:0", "/device:XLA_GPU:0"]

for device in devices:
    for shape in shapes:
        if "eager" in sys.argv:
            with tf.device(device):
                random_matrix = tf.random.uniform(shape=shape, minval=0, maxval=1)
                start_time = datetime.now()
                result = tf.matmul(random_matrix, tf.transpose(random_matrix)).numpy()
            elapsed_time = datetime.now() - start_time
        else:
            with tf.device(device):
                random_matrix = tf.random_uniform(shape=shape, minval=0, maxval=1)
                dot_operation = tf.matmul(random_matrix, tf.transpose(random_matrix))
                sum_operation = tf.reduce_sum(dot_operation)

            # Time the actual runtime of the operations
            start_time = datetime.now()
            with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
                result = session.run(sum_operation)
            elapsed_time = datetime.now() - start_time
        print(shape, device, elapsed_time.total_seconds())
