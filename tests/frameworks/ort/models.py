"""Writes one small model for each thing that ONNX Runtime optimises in its own way.

    python models.py FOLDER

``NAME.onnx`` is a model, ``NAME.npz`` an input for it. Each has 64 KiB of metadata, so that it is
large enough to be kept.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper, save_model

RANDOM = np.random.default_rng(0)
FLOAT = np.float32
MICROSOFT = helper.make_opsetid("com.microsoft", 1)
node = helper.make_node
value = helper.make_tensor_value_info


def drawn(*shape, dtype=FLOAT):
    return (0.1 * RANDOM.standard_normal(shape)).astype(dtype)


def weight(name, *shape, dtype=FLOAT):
    return numpy_helper.from_array(drawn(*shape, dtype=dtype), name)


def constant(name, content, dtype=None):
    return numpy_helper.from_array(np.asarray(content, dtype), name)


def quantised(name, *shape):
    return constant(name, RANDOM.integers(-127, 127, shape), np.int8)


def model(nodes, inputs, outputs, weights, *, opset=17, domains=(), **fields):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", opset), *domains]
    made = helper.make_model(graph, opset_imports=opsets, **{"ir_version": 8, **fields})
    helper.set_model_props(made, {"padding": "x" * 65536, "author": "nobody in particular"})
    return made


def matrix(nodes, weights, **fields):
    """A model from x to y, rows of 64 numbers each."""
    rows = [value(name, T.FLOAT, ["n", 64]) for name in "xy"]
    return model(nodes, rows[:1], rows[1:], weights, **fields), {"x": drawn(5, 64)}


def product():
    fields = {"domain": "d", "model_version": 7, "doc_string": "text", "producer_name": "p"}
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["y"])]
    return matrix(nodes, [weight("w", 64, 64), weight("b", 64)], **fields)


def convolution():
    """Convolutions with what is folded into them; at the last level also in blocks of channels."""
    nodes, weights, x = [], [], "x"
    for n, (inner, outer) in enumerate([(3, 32), (32, 64), (64, 64)]):
        weights.append(weight(f"w{n}", outer, inner, 3, 3))
        weights += [constant(f"{k}{n}", np.abs(drawn(outer)) + FLOAT(0.1)) for k in "sbmv"]
        parts = [f"{k}{n}" for k in "sbmv"]
        nodes += [
            node("Conv", [x, f"w{n}"], [f"c{n}"], pads=[1] * 4),
            node("BatchNormalization", [f"c{n}", *parts], [f"n{n}"]),
            node("Relu", [f"n{n}"], [f"r{n}"]),
        ]
        x = f"r{n}"
    weights += [weight("deep", 64, 1, 3, 3), weight("up", 64, 64, 2, 2), weight("out", 64, 10)]
    nodes += [
        node("Conv", [x, "deep"], ["d"], group=64, pads=[1] * 4),
        node("Add", ["d", x], ["sum"]),
        node("MaxPool", ["sum"], ["pool"], kernel_shape=[2, 2]),
        node("ConvTranspose", ["pool", "up"], ["t"], strides=[2, 2]),
        node("GlobalAveragePool", ["t"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("Gemm", ["flat", "out"], ["y"]),
    ]
    inputs = [value("x", T.FLOAT, ["n", 3, 16, 16])]
    return model(nodes, inputs, [value("y", T.FLOAT, ["n", 10])], weights), {
        "x": drawn(2, 3, 16, 16)
    }


def recurrent():
    parts = {"W": (2, 256, 32), "R": (2, 256, 64), "B": (2, 512)}
    parts |= {"gW": (1, 192, 128), "gR": (1, 192, 64), "gB": (1, 384)}
    weights = [weight(name, *shape) for name, shape in parts.items()]
    nodes = [
        node("LSTM", ["x", "W", "R", "B"], ["o", "h"], hidden_size=64, direction="bidirectional"),
        node("Transpose", ["o"], ["t"], perm=[0, 2, 1, 3]),
        node("Reshape", ["t", "shape"], ["r"]),
        node("GRU", ["r", "gW", "gR", "gB"], ["y"], hidden_size=64),
    ]
    outputs = [value("y", T.FLOAT, None), value("h", T.FLOAT, None)]
    weights.append(constant("shape", [0, 0, -1]))
    made = model(nodes, [value("x", T.FLOAT, ["t", "b", 32])], outputs, weights)
    return made, {"x": drawn(9, 3, 32)}


def quantised_pairs():
    scale, shift = ["s", "z"], ["ws", "wz"]
    weights = [constant("s", FLOAT(0.05)), constant("z", 128, np.uint8)]
    weights += [constant("ws", FLOAT(0.02)), constant("wz", 0, np.int8)]
    weights += [quantised("c", 32, 16, 3, 3), quantised("m", 512, 24)]
    weights.append(constant("shape", [-1, 512]))

    def rounded(x, name):
        nodes.append(node("QuantizeLinear", [x, *scale], [f"{name}q"]))
        nodes.append(node("DequantizeLinear", [f"{name}q", *scale], [name]))

    nodes = []
    rounded("x", "xd")
    nodes.append(node("DequantizeLinear", ["c", *shift], ["cd"]))
    nodes.append(node("Conv", ["xd", "cd"], ["conv"], pads=[1] * 4))
    rounded("conv", "convd")
    nodes.append(node("Reshape", ["convd", "shape"], ["flat"]))
    nodes.append(node("DequantizeLinear", ["m", *shift], ["md"]))
    nodes.append(node("MatMul", ["flat", "md"], ["product"]))
    rounded("product", "y")
    inputs = [value("x", T.FLOAT, [1, 16, 4, 4])]
    made = model(nodes, inputs, [value("y", T.FLOAT, [1, 24])], weights)
    return made, {"x": drawn(1, 16, 4, 4)}


def quantised_at_run_time():
    weights = [quantised("w", 64, 64), constant("wz", 0, np.int8), constant("ws", FLOAT(0.01))]
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z", "wz"], ["i"]),
        node("Cast", ["i"], ["f"], to=T.FLOAT),
        node("Mul", ["s", "ws"], ["scale"]),
        node("Mul", ["f", "scale"], ["y"]),
    ]
    return matrix(nodes, weights)


def four_bits():
    packed = constant("p", RANDOM.integers(0, 255, (64, 2, 16)), np.uint8)
    scales = constant("s", np.abs(drawn(128)))
    fields = {"K": 64, "N": 64, "bits": 4, "block_size": 32, "accuracy_level": 4}
    nodes = [node("MatMulNBits", ["x", "p", "s"], ["y"], domain="com.microsoft", **fields)]
    return matrix(nodes, [packed, scales], domains=[MICROSOFT])


def control_flow():
    """Branches and a loop that use weights of their own and of the graph around them."""
    any_float = [value(name, T.FLOAT, None) for name in ("t", "e", "next", "state", "each")]
    one = helper.make_graph(
        [node("MatMul", ["x", "W"], ["a"]), node("MatMul", ["a", "V"], ["t"])],
        "one", [], any_float[:1], [weight("V", 64, 64)],
    )  # fmt: skip
    other = helper.make_graph(
        [node("MatMul", ["x", "W"], ["b"]), node("Relu", ["b"], ["e"])], "other", [], any_float[1:2]
    )
    body = helper.make_graph(
        [
            node("MatMul", ["state", "W"], ["m"]),
            node("Tanh", ["m"], ["next"]),
            node("Identity", ["next"], ["each"]),
            node("Identity", ["go"], ["on"]),
        ],
        "body",
        [value("i", T.INT64, []), value("go", T.BOOL, []), any_float[3]],
        [value("on", T.BOOL, []), any_float[2], any_float[4]],
    )
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["positive"]),
        node("If", ["positive"], ["start"], then_branch=one, else_branch=other),
        node("Loop", ["times", "yes", "start"], ["y", "all"], body=body),
    ]
    weights = [weight("W", 64, 64), constant("zero", FLOAT(0)), constant("yes", 1, bool)]
    inputs = [value("x", T.FLOAT, ["n", 64]), value("times", T.INT64, [])]
    outputs = [value("y", T.FLOAT, None), value("all", T.FLOAT, None)]
    return model(nodes, inputs, outputs, weights), {"x": drawn(3, 64), "times": np.array(4)}


def half():
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Softmax", ["a"], ["p"]),
        node("Cast", ["p"], ["y"], to=T.FLOAT),
    ]
    inputs, outputs = [value("x", T.FLOAT16, ["n", 64])], [value("y", T.FLOAT, ["n", 64])]
    made = model(nodes, inputs, outputs, [weight("w", 64, 64, dtype=np.float16)])
    return made, {"x": drawn(4, 64, dtype=np.float16)}


def own_function():
    inside = [
        node("MatMul", ["a", "w"], ["m"]),
        node("Erf", ["m"], ["e"]),
        node("Mul", ["m", "e"], ["o"]),
    ]
    opsets = [helper.make_opsetid("", 17)]
    made = helper.make_function("own", "Bent", ["a", "w"], ["o"], inside, opsets)
    nodes = [node("Bent", [x, "w"], [y], domain="own") for x, y in ("xh", "hy")]
    fields = {"domains": [helper.make_opsetid("own", 1)], "functions": [made]}
    return matrix(nodes, [weight("w", 64, 64)], **fields)


def overridable():
    """Weights that a run may replace, and an input that nothing uses."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["y"])]
    inputs = [value("x", T.FLOAT, ["n", 64]), value("w", T.FLOAT, [64, 64])]
    inputs += [value("b", T.FLOAT, [64]), value("unused", T.FLOAT, ["u"])]
    weights = [weight("w", 64, 64), weight("b", 64)]
    made = model(nodes, inputs, [value("y", T.FLOAT, ["n", 64])], weights)
    return made, {"x": drawn(4, 64), "unused": drawn(3)}


def of_old():
    """A version of the format in which every weight is an input too."""
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    inputs = [value("x", T.FLOAT, ["n", 64]), value("w", T.FLOAT, [64, 64])]
    outputs = [value("y", T.FLOAT, ["n", 64])]
    made = model(nodes, inputs, outputs, [weight("w", 64, 64)], opset=8, ir_version=3)
    return made, {"x": drawn(4, 64)}


def texts():
    words = constant("words", np.array(["a", "bb", "ä"], object))
    nodes = [node("Gather", ["words", "i"], ["y"]), node("Identity", ["i"], ["same"])]
    outputs = [value("y", T.STRING, None), value("same", T.INT64, ["n"])]
    return model(nodes, [value("i", T.INT64, ["n"])], outputs, [words]), {"i": np.array([2, 0])}


def constant_parts():
    grid = constant("k", np.arange(4096).reshape(64, 64) / 977, FLOAT)
    nodes = [
        node("MatMul", ["k", "k"], ["kk"]),
        node("Sin", ["kk"], ["bent"]),
        node("ReduceMean", ["bent"], ["mean"], axes=[0]),
        node("MatMul", ["x", "bent"], ["a"]),
        node("Sub", ["a", "mean"], ["y"]),
    ]
    return matrix(nodes, [grid])


def sparse():
    some = helper.make_sparse_tensor(
        constant("w", [1, 2, 3], FLOAT), constant("at", [1, 70, 4000]), [64, 64]
    )
    made, feed = matrix([node("MatMul", ["x", "w"], ["y"])], [])
    made.graph.sparse_initializer.append(some)
    return made, feed


def decision_tree():
    fields = {
        "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0] * 3,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.05, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0] * 2, "target_nodeids": [1, 2], "target_ids": [0] * 2,
        "target_weights": [1.5, 2.5], "n_targets": 1,
    }  # fmt: skip
    nodes = [node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **fields)]
    columns = [value(name, T.FLOAT, ["n", 1]) for name in "xy"]
    domains = [helper.make_opsetid("ai.onnx.ml", 3)]
    return model(nodes, columns[:1], columns[1:], [], domains=domains), {"x": drawn(9, 1)}


def random_numbers():
    nodes = [node("RandomNormalLike", ["x"], ["r"]), node("Add", ["x", "r"], ["y"])]
    return matrix(nodes, [])


MODELS = [
    product, convolution, recurrent, quantised_pairs, quantised_at_run_time, four_bits, control_flow,
    half, own_function, overridable, of_old, texts, constant_parts, sparse, decision_tree,
]  # fmt: skip


def main(folder):
    for make in [*MODELS, random_numbers]:
        made, feed = make()
        save_model(made, folder / f"{make.__name__}.onnx")
        np.savez(folder / f"{make.__name__}.npz", **feed)
    made, _ = product()
    apart = {"save_as_external_data": True, "location": "apart.bin", "size_threshold": 0}
    save_model(made, folder / "apart.onnx", **apart)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
