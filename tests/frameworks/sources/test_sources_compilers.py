"""The hooks on the frameworks that are installed here."""

from __future__ import annotations

import importlib.util
from collections import Counter

import pytest


def needs(name):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"needs {name}")


JAX = """
import jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
f(jnp.ones((64, 64))).block_until_ready()
"""


@needs("jax")
def test_jax_with_a_cold_and_a_warm_cache(traced, tmp_path):
    env = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PLATFORMS": "cpu",
    }
    cold = traced(JAX, sources="jax", env=env)
    names = Counter(name for name, _, _ in cold.spans("jax"))
    assert {"backend_init", "trace", "lower", "backend_compile", "cache_write"} <= set(names)
    assert any("fun_name" in detail for _, detail, _ in cold.spans("jax"))
    assert cold.state("jax").reason.startswith("jax ")
    (tmp_path / "spool").rename(tmp_path / "cold")
    warm = traced(JAX, sources="jax", env=env)
    reads = [detail for name, detail, _ in warm.spans("jax") if name == "cache_read"]
    assert reads
    assert all(detail.startswith("hit=True") for detail in reads)
    assert not [name for name, _, _ in warm.spans("jax") if name == "cache_write"]
    assert warm.events("jax.saved_ns")


TORCH = """
import torch
@torch.compile(backend="eager")
def step(x):
    return x * 2 + 1
step(torch.ones(3))
step(torch.ones(4))
"""


@needs("torch")
def test_torch_phases_and_the_reason_of_a_recompile(traced):
    seen = traced(TORCH, sources="torch")
    spans = seen.spans("torch")
    names = Counter(name for name, _, _ in spans)
    assert names["dynamo"] == 2
    assert {"backend_compile", "build_guards"} <= set(names)
    (reason,) = [detail for name, detail, _ in spans if name == "recompile"]
    assert "fn_name=step" in reason
    assert "expected 3, actual 4" in reason


TENSORFLOW = """
import tensorflow as tf
@tf.function
def step(x):
    return tf.reduce_sum(x) + 1
step(tf.ones((3,)))
step(tf.ones((4,)))
step(tf.ones((4,)))
"""


@needs("tensorflow")
def test_tensorflow_traces_retraces_and_its_context(traced):
    seen = traced(TENSORFLOW, sources="tensorflow")
    spans = seen.spans("tensorflow")
    traces = [detail for name, detail, _ in spans if name == "trace"]
    assert [("retrace=0" in detail, "retrace=1" in detail) for detail in traces] == [
        (True, False),
        (False, True),
    ]
    assert all("fn_name=step" in detail for detail in traces)
    assert Counter(name for name, _, _ in spans)["context"] == 1


MATMUL = """
import tensorflow as tf
x = tf.ones((1000, 1000))
float(tf.reduce_sum(tf.matmul(x, x)))
"""


@needs("tensorflow")
def test_code_generation_inside_onednn_shows_by_symbol(sampled):
    seen = sampled(MATMUL, sources="perf")
    generating = [s for library, s in seen.leaves() if "tensorflow" in library and "Xbyak" in s]
    if not any(library == "[jit]" for library, _ in seen.leaves()):
        pytest.skip("this processor's oneDNN generates no code")
    assert len(generating) >= 5


NUMBA = """
import numba
@numba.njit(cache=True)
def total(n):
    s = 0
    for i in range(n):
        s += i
    return s
total(10)
"""


@needs("numba")
def test_numba_compiles_then_reads_its_cache(traced, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(NUMBA)
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport script\n"
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    cold = traced(code, sources="numba", env=env)
    assert [name for name, _, _ in cold.spans("numba")] == ["cache_read", "compile", "cache_write"]
    assert cold.spans("numba")[1][1].startswith("fn_name=total")
    (tmp_path / "spool").rename(tmp_path / "cold")
    warm = traced(code, sources="numba", env=env)
    ((name, detail, _),) = warm.spans("numba")
    assert (name, detail) == ("cache_read", "hit=True, fn_name=total")


def test_sources_wait_without_importing_a_framework(traced):
    code = "import sys\nprint(sorted(sys.modules))\nassert not {'jax', 'torch', 'tensorflow', 'numba', 'triton', 'numpy'} & set(sys.modules)\n"
    seen = traced(code, sources="jax,torch,tensorflow,triton,numba,nvrtc,io")
    assert {source.state for source in seen.trace.sources} == {"on"}
    assert not any(source.reason for source in seen.trace.sources)
