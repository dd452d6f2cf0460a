"""Writes the model of ort_session.py: a text encoder with made-up weights, 133 MB.

    python ort_model.py encoder.onnx

Twelve layers of width 384, twelve heads, inner width 1536, 30,522 words, 512 places: the size of
small sentence encoders. Operators are the elementary ones of an exporter that knows no fused ones:
normalisation, GELU and attention are spelled out, and shapes are computed from the input's.
"""

import sys
from itertools import count

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

LAYERS, WIDTH, HEADS, INNER, WORDS, PLACES = 12, 384, 12, 1536, 30522, 512
SMALL = 1e-12


class Graph:
    """Collects nodes and weights; each method returns the name of what it computes."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.numbers = count()
        self.random = np.random.default_rng(0)

    def __getattr__(self, kind):
        def add(*inputs, **attributes):
            name = f"{kind}_{next(self.numbers)}"
            self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
            return name

        return add

    def constant(self, value, dtype=np.float32):
        name = f"constant_{next(self.numbers)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def drawn(self, *shape):
        return self.constant(0.02 * self.random.standard_normal(shape, dtype=np.float32))

    def linear(self, x, inner, outer):
        return self.Add(self.MatMul(x, self.drawn(inner, outer)), self.drawn(outer))

    def normalised(self, x):
        centred = self.Sub(x, self.ReduceMean(x, axes=[-1]))
        variance = self.ReduceMean(self.Pow(centred, self.constant(2)), axes=[-1])
        scaled = self.Div(centred, self.Sqrt(self.Add(variance, self.constant(SMALL))))
        gained = self.Mul(scaled, self.constant(np.ones(WIDTH)))
        return self.Add(gained, self.constant(np.zeros(WIDTH)))

    def gelu(self, x):
        bent = self.Add(self.Erf(self.Div(x, self.constant(2**0.5))), self.constant(1))
        return self.Mul(self.Mul(x, bent), self.constant(0.5))

    def reshaped(self, x, *last):
        """Keep the first two dimensions and give the rest the shape ``last``."""
        shape = self.Shape(x)
        kept = [self.Gather(shape, self.constant(n, np.int64), axis=0) for n in (0, 1)]
        kept = [self.Unsqueeze(one, self.integers(0)) for one in kept]
        return self.Reshape(x, self.Concat(*kept, self.integers(*last), axis=0))

    def heads(self, x, order):
        projected = self.linear(x, WIDTH, WIDTH)
        return self.Transpose(self.reshaped(projected, HEADS, WIDTH // HEADS), perm=order)

    def attention(self, x, mask):
        queries, keys = self.heads(x, [0, 2, 1, 3]), self.heads(x, [0, 2, 3, 1])
        values = self.heads(x, [0, 2, 1, 3])
        scale = self.constant((WIDTH // HEADS) ** 0.5)
        scores = self.Add(self.Div(self.MatMul(queries, keys), scale), mask)
        mixed = self.MatMul(self.Softmax(scores, axis=-1), values)
        joined = self.reshaped(self.Transpose(mixed, perm=[0, 2, 1, 3]), WIDTH)
        return self.linear(joined, WIDTH, WIDTH)

    def layer(self, x, mask):
        x = self.normalised(self.Add(self.attention(x, mask), x))
        inner = self.gelu(self.linear(x, WIDTH, INNER))
        return self.normalised(self.Add(self.linear(inner, INNER, WIDTH), x))

    def embedded(self, words):
        length = self.Gather(self.Shape(words), self.integers(1), axis=0)
        places = self.Slice(
            self.constant([range(PLACES)], np.int64), self.integers(0), length, self.integers(1)
        )
        drawn = self.Gather(self.drawn(WORDS, WIDTH), words, axis=0)
        return self.normalised(
            self.Add(drawn, self.Gather(self.drawn(PLACES, WIDTH), places, axis=0))
        )

    def encoder(self):
        x = self.embedded("words")
        seen = self.Cast(self.Unsqueeze("mask", self.integers(1, 2)), to=TensorProto.FLOAT)
        mask = self.Mul(self.Sub(self.constant(1), seen), self.constant(-10000))
        for _ in range(LAYERS):
            x = self.layer(x, mask)
        first = self.Gather(x, self.constant(0, np.int64), axis=1)
        return x, self.Tanh(self.linear(first, WIDTH, WIDTH))


def model():
    graph = Graph()
    names = graph.encoder()
    shapes = (["batch", "length", WIDTH], ["batch", WIDTH])
    value = helper.make_tensor_value_info
    inputs = [value(n, TensorProto.INT64, ["batch", "length"]) for n in ("words", "mask")]
    outputs = [
        value(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes, strict=True)
    ]
    return helper.make_model(
        helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.weights),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


if __name__ == "__main__":
    save_model(model(), sys.argv[1])
