"""JAX: trace, lower, backend compile and the persistent cache, from ``jax._src.monitoring``.

A duration is reported on the thread that worked, at its end; the span begins that much earlier.
The backend's start and the cache's writes report nothing, so their functions get a span.
"""

from time import monotonic_ns

from . import point, span, text, unknown, version_of, wrap

_NAMES = {
    "jaxpr_trace_duration": "trace",
    "jaxpr_to_mlir_module_duration": "lower",
    "backend_compile_duration": "backend_compile",
    "cache_retrieval_time_sec": "cache_read",
    "pgle_profile_duration": "pgle_profile",
}
_SAVED = "compile_time_saved_sec"
_agent = None
_reads_followed = False


def start(agent):
    """Wait for JAX; nothing is imported here."""
    global _agent
    _agent = agent
    agent.on_import("jax._src.monitoring", _listen)
    agent.on_import("jax._src.xla_bridge", _follow_backend)
    agent.on_import("jax._src.compilation_cache", _follow_cache)


def _listen(module):
    try:
        module.register_event_duration_secs_listener(_on_duration)
        module.register_event_listener(_on_event)
    except AttributeError as error:
        unknown(_agent, "jax", "jax", text(error))
        return
    _agent.source("jax", "on", version_of("jax"))


def _on_duration(event, seconds, **details):
    end = monotonic_ns()
    last = event.rpartition("/")[2]
    if last == _SAVED:
        point(_agent, "jax.saved_ns", int(seconds * 1e9))
        return
    name = _NAMES.get(last, last)
    if name == "cache_read" and _reads_followed:
        return
    args = {key: text(value) for key, value in details.items()}
    span(_agent, "jax", name, end - max(0, int(seconds * 1e9)), end, args)


def _on_event(event, **details):
    if "compilation_cache" not in event:
        return
    args = {key: text(value) for key, value in details.items()}
    now = monotonic_ns()
    span(_agent, "jax", event.rpartition("/")[2], now, now, args)


def _follow_backend(module):
    def describe(args, kwargs, result):
        return {"platform": text(args[0] if args else kwargs.get("platform"))}

    wrap(_agent, "jax", module, "_init_backend", "backend_init", describe)


def _follow_cache(module):
    global _reads_followed

    def describe_read(args, kwargs, result):
        hit = bool(result) and result[0] is not None
        return {"hit": hit, "key": text(args[0] if args else kwargs.get("cache_key"))}

    def describe_write(args, kwargs, result):
        return {"fun_name": text(args[1] if len(args) > 1 else kwargs.get("module_name"))}

    _reads_followed = wrap(
        _agent, "jax", module, "get_executable_and_time", "cache_read", describe_read
    )
    wrap(_agent, "jax", module, "put_executable_and_time", "cache_write", describe_write)
