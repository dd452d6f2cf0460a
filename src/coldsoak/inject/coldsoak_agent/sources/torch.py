"""torch.compile: Dynamo, AOTAutograd, Inductor, Triton and their caches.

PyTorch (2.4 and later) passes each compile phase through one class, ``ChromiumEventLogger``; its
start, end and instant methods are followed. The reasons for recompiles come from the function
that collects failed guards. Loading of the compiler itself shows in the import spans.
"""

from _thread import get_ident
from time import monotonic_ns

from . import span, text, unknown, version_of, wrap

_KEPT = (
    "fn_name",
    "compile_id",
    "co_name",
    "co_filename",
    "co_firstlineno",
    "cache_state",
    "cache_hit",
    "key",
    "kernel_name",
    "is_backward",
    "components",
    "cache_bypass_reason",
    "fx_graph_cache_hit",
    "fx_graph_cache_miss",
    "autograd_cache_hit",
)
_MARKERS = ("cache", "compile_time", "recompile", "autotun")
_agent = None
_open = {}


def start(agent):
    """Wait for the module that keeps compile events; nothing is imported here."""
    global _agent
    _agent = agent
    agent.on_import("torch._dynamo.utils", _follow_events)
    agent.on_import("torch._dynamo.guards", _follow_guards)
    agent.on_import("torch.utils.cpp_extension", _follow_extensions)


def _follow_events(module):
    logger = getattr(module, "ChromiumEventLogger", None)
    if not (hasattr(logger, "log_event_start") and hasattr(logger, "log_event_end")):
        unknown(_agent, "torch", "torch", "torch._dynamo.utils.ChromiumEventLogger")
        return
    _precede(logger, "log_event_start", _on_start)
    _precede(logger, "log_event_end", _on_end)
    _precede(logger, "log_instant_event", _on_instant)
    _agent.source("torch", "on", version_of("torch"))


def _precede(owner, method, observe):
    """Call ``observe(logger, event_name, args, kwargs)`` before a method; 2.4 has them static."""
    found = vars(owner).get(method)
    if found is None:
        return
    static = isinstance(found, staticmethod)
    inner = found.__func__ if static else found

    def observed(*args, **kwargs):
        try:
            own = None if static else args[0]
            rest = args if static else args[1:]
            name = kwargs["event_name"] if "event_name" in kwargs else rest[0]
            observe(own, text(name), rest, kwargs)
        except Exception:
            pass
        return inner(*args, **kwargs)

    setattr(owner, method, staticmethod(observed) if static else observed)


def _on_start(logger, event_name, args, kwargs):
    _open.setdefault(get_ident(), []).append((event_name, monotonic_ns()))


def _on_end(logger, event_name, args, kwargs):
    now = monotonic_ns()
    _close(event_name, now, _data(logger, event_name))


def _on_instant(logger, event_name, args, kwargs):
    if any(marker in event_name for marker in _MARKERS):
        now = monotonic_ns()
        metadata = kwargs.get("metadata") or next((a for a in args if type(a) is dict), {})
        span(_agent, "torch", event_name, now, now, _chosen(metadata))


def _data(logger, event_name):
    try:
        return logger.get_event_data().get(event_name, {})
    except Exception:
        return {}


def _close(event_name, now, data):
    stack = _open.get(get_ident(), [])
    if not any(name == event_name for name, _ in stack):
        return
    while stack:
        name, began = stack.pop()
        if name == event_name:
            break
    span(_agent, "torch", event_name, began, now, _chosen(data))


def _chosen(data):
    return {key: text(data[key]) for key in _KEPT if data.get(key) is not None}


def _follow_guards(module):
    def describe(args, kwargs, result):
        frame = args[1] if len(args) > 1 else kwargs.get("frame")
        code = getattr(frame, "f_code", None)
        reasons = result if isinstance(result, (list, tuple)) else [result]
        reason = text(reasons[0], 300) if reasons else ""
        return {"fn_name": text(getattr(code, "co_name", "")), "reason": reason}

    wrap(_agent, "torch", module, "get_and_maybe_log_recompilation_reasons", "recompile", describe)


def _follow_extensions(module):
    def describe(args, kwargs, result):
        return {"name": text(args[0] if args else kwargs.get("name"))}

    wrap(_agent, "torch", module, "_jit_compile", "cpp_extension", describe)
