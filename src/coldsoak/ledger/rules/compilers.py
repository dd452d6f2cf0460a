"""Compile, trace and cache spans of the frameworks, by the words in their names.

The names are the frameworks' own: events of ``jax.monitoring``, phases of Dynamo and Inductor
(``dynamo_timed``), TensorFlow's function tracing, Triton, Numba, NVRTC and oneDNN.
"""

from __future__ import annotations

import re
from functools import cache

from coldsoak.ledger.rules.base import Kind, Verdict
from coldsoak.model.causes import Cause

__all__ = ["SOURCES", "verdict"]

SOURCES = frozenset(
    {"jax", "torch", "triton", "tensorflow", "onednn", "numba", "nvrtc", "onnxruntime"}
)

_WORDS: tuple[tuple[str, Cause], ...] = (
    (r"autotun|do_bench|benchmark|algo\w*_?search|tun(e|ing)\b", Cause.ALGORITHM_SEARCH),
    (r"torch_key", Cause.CACHE_LOOKUP),
    (r"CodeCache|code_?gen|compile_file|GraphLowering|_passes", Cause.COMPILE),
    (r"recompile", Cause.TRACE),
    (r"cache|lookup|retriev|load_artifact|deserial", Cause.CACHE_LOOKUP),
    (
        r"backend.?compile|codegen|inductor|compile_fx|async_compile|triton|cpp|ptxas|xla|llvm|grappler|optimi[sz]|cudagraph",
        Cause.COMPILE,
    ),
    (
        r"trac(e|ing)|lower|to_mlir|jaxpr|dynamo|aot|joint|graph|bytecode|guard|variable|function|_compile\.compile|entire_frame",
        Cause.TRACE,
    ),
    (r"compil|create|build|jit|nvcc|module", Cause.COMPILE),
)
_RULES = tuple((re.compile(words, re.IGNORECASE), cause) for words, cause in _WORDS)

_DEFAULT = {
    "triton": Cause.COMPILE,
    "numba": Cause.COMPILE,
    "nvrtc": Cause.COMPILE,
}
_SESSIONS = {
    "create_session": Verdict(Cause.PLAN_BUILD, Kind.OPEN),
    "run on the CPU": Verdict(Cause.HOST_COMPUTE, Kind.OPEN),
}
"""ONNX Runtime has no symbols: what it did is told by the call it was in."""
_EXECUTES = Verdict(Cause.HOST_COMPUTE, Kind.FIXED)


@cache
def verdict(source: str, name: str) -> Verdict:
    """Return the cause of a framework's span; a name that says nothing is ``framework_host``."""
    if source == "onednn":
        executes = name.startswith("exec")
        return _EXECUTES if executes else Verdict(Cause.COMPILE, Kind.BUILD)
    if source == "onnxruntime" and name in _SESSIONS:
        return _SESSIONS[name]
    if source == "tensorflow" and re.search(r"execute|\brun\b|eager", name, re.IGNORECASE):
        return Verdict(Cause.FRAMEWORK_HOST, Kind.OPEN)
    for pattern, cause in _RULES:
        if pattern.search(name):
            return Verdict(cause, Kind.BUILD)
    fallback = _DEFAULT.get(source)
    return Verdict(fallback, Kind.BUILD) if fallback else Verdict(Cause.FRAMEWORK_HOST, Kind.OPEN)
