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
    begin = getattr(logger, "log_event_start", None)
    end = getattr(logger, "log_event_end", None)
    if begin is None or end is None:
        unknown(_agent, "torch", "torch", "torch._dynamo.utils.ChromiumEventLogger")
        return

    def log_event_start(self, event_name, *args, **kwargs):
        stack = _open.setdefault(get_ident(), [])
        stack.append((event_name, monotonic_ns()))
        return begin(self, event_name, *args, **kwargs)

    def log_event_end(self, event_name, *args, **kwargs):
        now = monotonic_ns()
        try:
            _close(event_name, now, _data(self, event_name))
        except Exception:
            pass
        return end(self, event_name, *args, **kwargs)

    logger.log_event_start, logger.log_event_end = log_event_start, log_event_end
    _follow_instants(logger)
    _agent.source("torch", "on", version_of("torch"))


def _follow_instants(logger):
    instant = getattr(logger, "log_instant_event", None)
    if instant is None:
        return

    def log_instant_event(self, event_name, *args, **kwargs):
        if any(marker in event_name for marker in _MARKERS):
            now = monotonic_ns()
            metadata = kwargs.get("metadata") or next((a for a in args if type(a) is dict), {})
            span(_agent, "torch", text(event_name), now, now, _chosen(metadata))
        return instant(self, event_name, *args, **kwargs)

    logger.log_instant_event = log_instant_event


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
    span(_agent, "torch", text(event_name), began, now, _chosen(data))


def _chosen(data):
    return {key: text(data[key]) for key in _KEPT if data.get(key) is not None}


def _follow_guards(module):
    def describe(args, kwargs, result):
        frame = args[1] if len(args) > 1 else kwargs.get("frame")
        code = getattr(frame, "f_code", None)
        reasons = result if isinstance(result, (list, tuple)) else [result]
        return {"fn_name": text(getattr(code, "co_name", "")), "reason": text(reasons[0], 300)}

    wrap(_agent, "torch", module, "get_and_maybe_log_recompilation_reasons", "recompile", describe)


def _follow_extensions(module):
    def describe(args, kwargs, result):
        return {"name": text(args[0] if args else kwargs.get("name"))}

    wrap(_agent, "torch", module, "_jit_compile", "cpp_extension", describe)
