"""K75: ONNX Runtime is slow for each new shape and not for new data; without: one shape only."""
import os
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
weight = numpy_helper.from_array(rng.random((32, 3, 3, 3), dtype=np.float32), "w")
deep = numpy_helper.from_array(rng.random((32, 32, 3, 3), dtype=np.float32), "v")
graph = helper.make_graph(
    [
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["y", "v"], ["z"], pads=[1, 1, 1, 1]),
    ],
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])],
    [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    [weight, deep],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 9
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
shapes = [(512, 512)] * 3 if os.environ.get("VICTIM_WITHOUT") else [(512, 512), (768, 768), (640, 1024)]
for number, shape in enumerate(shapes):
    for repeat in range(6):
        image = rng.random((1, 3, *shape), dtype=np.float32)
        start = time.perf_counter()
        session.run(None, {"x": image})
        print(f"{shape} {time.perf_counter() - start:.6f}")
