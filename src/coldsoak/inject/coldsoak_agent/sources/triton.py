"""Triton: a span for each kernel compile, with hit or miss where the version tells it.

``triton.compiler.compiler.compile`` is replaced right after its module ran, before the others
take it by name; so all versions from 2.1 on are covered.
"""

from _thread import get_ident

from . import text, unknown, version_of, wrap

_agent = None
_hits = {}


def start(agent):
    """Wait for Triton; nothing is imported here."""
    global _agent
    _agent = agent
    agent.on_import("triton.compiler.compiler", _follow_compile)
    agent.on_import("triton.knobs", _follow_knobs)
    agent.on_import("triton.runtime.autotuner", _follow_autotuner)


def _follow_compile(module):
    if not wrap(_agent, "triton", module, "compile", "compile", _describe):
        unknown(_agent, "triton", "triton", "triton.compiler.compiler.compile")
        return
    _agent.source("triton", "on", version_of("triton"))


def _describe(args, kwargs, result):
    source = args[0] if args else kwargs.get("src")
    metadata = getattr(result, "metadata", None)
    name = getattr(metadata, "name", None) or getattr(source, "name", "")
    details = {"fn_name": text(name), "key": text(getattr(result, "hash", ""))}
    hit = _hits.pop(get_ident(), None)
    if hit is not None:
        details["hit"] = hit
    return details


def _follow_knobs(module):
    knobs = getattr(module, "compilation", None)
    if not hasattr(knobs, "listener"):
        return
    before = knobs.listener

    def listener(*args, **kwargs):
        hit = kwargs.get("cache_hit", args[4] if len(args) > 4 else None)
        if hit is not None:
            _hits[get_ident()] = bool(hit)
        if before is not None:
            before(*args, **kwargs)

    try:
        knobs.listener = listener
    except Exception:
        pass


def _follow_autotuner(module):
    def describe(args, kwargs, result):
        function = getattr(args[0], "base_fn", None) or getattr(args[0], "fn", None)
        return {"fn_name": text(getattr(function, "__name__", ""))}

    wrap(_agent, "triton", getattr(module, "Autotuner", None), "_bench", "autotune", describe)
