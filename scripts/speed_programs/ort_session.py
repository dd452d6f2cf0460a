"""The first sentence through a text encoder in ONNX Runtime on the processor.

python ort_model.py encoder.onnx && python ort_session.py encoder.onnx
"""

import sys
import time

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
words = (np.arange(64, dtype=np.int64) * 479 % 30522)[None]
sentence = {"words": words, "mask": np.ones_like(words)}


def encode():
    start = time.perf_counter()
    hidden, pooled = session.run(None, sentence)
    total = float(hidden.sum(dtype=np.float64) + pooled.sum(dtype=np.float64))
    return time.perf_counter() - start, total


first, total = encode()
print("first_result_ns", time.monotonic_ns(), flush=True)
later = [encode()[0] for _ in range(10)]
print("seconds", first, *later)
print("sum", total, "on cpu")
