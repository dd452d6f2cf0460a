"""Sources of evidence inside the measured process; each module is one, with ``start(agent)``.

The helpers here serve the sources that follow a compiler: they put a span around functions of a
module that the program itself imports.
"""

from _thread import get_native_id
from time import monotonic_ns

__all__ = ["Off", "point", "span", "text", "unknown", "version_of", "wrap"]


_NONE = {}


class Off(Exception):
    """Raised by ``start`` where a source cannot work; the message is the reason."""


def span(agent, source, name, start_ns, end_ns, args=None):
    """Write a span of the calling thread."""
    agent.emit("span", source, name, get_native_id(), start_ns, end_ns, args or _NONE)


def point(agent, kind, value, name=""):
    """Write a moment with a value; the trace has it among its events."""
    now = monotonic_ns()
    agent.emit("span", "point", kind, get_native_id(), now, now, {"value": value, "name": name})


def text(value, limit=200):
    """Return ``value`` as short text, whatever it is."""
    try:
        value = value if isinstance(value, str) else str(value)
    except Exception:
        return "?"
    return value if len(value) <= limit else value[: limit - 1] + "…"


def version_of(package):
    """Return name and version of a package as far as it is imported."""
    import sys

    module = sys.modules.get(package)
    found = getattr(module, "__version__", "") or getattr(module, "VERSION", "")
    return text("%s %s" % (package, found)).strip()


def unknown(agent, source, package, missing):
    """Say that a framework's version has no such entry point."""
    agent.source(source, "off", "unknown version of %s: no %s" % (version_of(package), missing))


def wrap(agent, source, owner, attribute, name, describe=None):
    """Put a span around the function ``owner.attribute``; return whether it was there.

    ``describe(args, kwargs, result)`` gives the span's arguments; it runs after the end was read
    and may fail. The wrapped function's result and exceptions pass through untouched.
    """
    inner = getattr(owner, attribute, None)
    if not callable(inner) or hasattr(inner, "__coldsoak__"):
        return callable(inner)

    def measured(*args, **kwargs):
        result = None
        start = monotonic_ns()
        try:
            result = inner(*args, **kwargs)
            return result
        finally:
            end = monotonic_ns()
            try:
                details = describe(args, kwargs, result) if describe else {}
            except Exception:
                details = {}
            span(agent, source, name, start, end, details)

    for copied in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = getattr(inner, copied, None)
        if value is None or isinstance(value, str):
            setattr(measured, copied, value or "")
    measured.__wrapped__ = inner
    measured.__coldsoak__ = True
    setattr(owner, attribute, measured)
    return True
