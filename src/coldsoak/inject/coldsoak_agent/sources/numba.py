"""Numba: compiles from ``numba.core.event``, reads and writes of its file cache."""

from _thread import get_ident
from time import monotonic_ns

from . import span, text, unknown, version_of, wrap

_agent = None
_open = {}


def start(agent):
    """Wait for Numba; nothing is imported here."""
    global _agent
    _agent = agent
    agent.on_import("numba.core.event", _listen)
    agent.on_import("numba.core.caching", _follow_cache)


def _listen(module):
    try:

        class Compiles(module.Listener):
            def on_start(self, event):
                _open.setdefault(get_ident(), []).append(monotonic_ns())

            def on_end(self, event):
                _finish(event)

        module.register("numba:compile", Compiles())
    except (AttributeError, ValueError) as error:
        unknown(_agent, "numba", "numba", text(error))
        return
    _agent.source("numba", "on", version_of("numba"))


def _finish(event):
    end = monotonic_ns()
    stack = _open.get(get_ident())
    if not stack:
        return
    began = stack.pop()
    try:
        data = event.data
        function = getattr(data["dispatcher"], "py_func", None)
        args = {"fn_name": text(getattr(function, "__name__", "")), "key": text(data["args"])}
    except Exception:
        args = {}
    span(_agent, "numba", "compile", began, end, args)


def _follow_cache(module):
    def describe_read(args, kwargs, result):
        return {"hit": result is not None, "fn_name": _cached(args)}

    def describe_write(args, kwargs, result):
        return {"fn_name": _cached(args)}

    owner = getattr(module, "Cache", None)
    wrap(_agent, "numba", owner, "load_overload", "cache_read", describe_read)
    wrap(_agent, "numba", owner, "save_overload", "cache_write", describe_write)


def _cached(args):
    return text(getattr(getattr(args[0], "_py_func", None), "__name__", ""))
