"""K75: ONNX Runtime is slow for each new shape and not for new data; without: one shape only."""
import os
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

rng = np.random.default_rng(0)
names = [f"t{number}" for number in range(9)]
graph = helper.make_graph(
    [helper.make_node("Concat", [a, a], [b], axis=1) for a, b in zip(names[:4], names[1:5])]
    + [helper.make_node("ReduceMax", ["t4"], ["out"], keepdims=0)],
    "g",
    [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1, 3, "h", "w"])],
    [helper.make_tensor_value_info("out", TensorProto.FLOAT, [])],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 9
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.enable_mem_pattern = False
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
shapes = [(768, 768)] * 3 if os.environ.get("VICTIM_WITHOUT") else [(768, 768), (1536, 1536), (1024, 1536)]
for number, shape in enumerate(shapes):
    for repeat in range(6):
        image = rng.random((1, 3, *shape), dtype=np.float32)
        start = time.perf_counter()
        session.run(None, {"t0": image})
        print(f"{shape} {time.perf_counter() - start:.6f}")
