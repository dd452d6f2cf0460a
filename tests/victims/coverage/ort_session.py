"""A small network in ONNX Runtime."""
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

node = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["y"], ["z"])]
weights = helper.make_tensor("w", TensorProto.FLOAT, [64, 16, 3, 3], np.ones(64 * 16 * 9, np.float32))
graph = helper.make_graph(
    node, "net",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16, 96, 96])],
    [helper.make_tensor_value_info("z", TensorProto.FLOAT, [8, 64, 96, 96])], [weights],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
x = np.ones((8, 16, 96, 96), np.float32)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
for _ in range(8):
    start = time.perf_counter()
    session.run(None, {"x": x})
    print(f"{time.perf_counter() - start:.6f}")
