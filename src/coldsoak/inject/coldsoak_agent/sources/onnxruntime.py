"""ONNX Runtime: making of sessions, and runs that stay on the CPU.

Its library has no symbols, so samples in it say nothing: what it did is told by the call that it was
in. A run on the CPU is its kernels; where another provider takes part, CUDA's records know better.
"""

from time import monotonic_ns

from . import span, text, unknown, version_of, wrap

_MOST_RUNS = 1000
"""Runs that get a span; a program that serves for hours needs no more."""
_agent = None


def start(agent):
    """Wait for ONNX Runtime; nothing is imported here."""
    global _agent
    _agent = agent
    agent.on_import("onnxruntime.capi.onnxruntime_inference_collection", _follow)


def _follow(module):
    session = getattr(module, "InferenceSession", None)
    found = wrap(
        _agent, "onnxruntime", session, "_create_inference_session", "create_session", _describe
    )
    if not found or not callable(getattr(session, "run", None)):
        unknown(_agent, "onnxruntime", "onnxruntime", "InferenceSession._create_inference_session")
        return
    _follow_runs(session)
    _agent.source("onnxruntime", "on", version_of("onnxruntime"))


def _describe(args, kwargs, result):
    return {"providers": text(_providers(args[0])), "model": text(args[0]._model_path or "bytes")}


def _providers(session):
    return list(getattr(session, "_providers", ()))


def _follow_runs(session):
    inner = session.run
    left = _MOST_RUNS

    def run(self, *args, **kwargs):
        nonlocal left
        if left <= 0 or _providers(self) != ["CPUExecutionProvider"]:
            return inner(self, *args, **kwargs)
        left -= 1
        start = monotonic_ns()
        try:
            return inner(self, *args, **kwargs)
        finally:
            span(_agent, "onnxruntime", "run on the CPU", start, monotonic_ns())

    run.__doc__ = inner.__doc__
    run.__wrapped__ = inner
    session.run = run
