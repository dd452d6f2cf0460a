"""TensorFlow: tracing of ``tf.function``, AutoGraph, start of the eager context, TF1 sessions.

Grappler and XLA run in native code and have no Python entry point; their time shows in the
samples by symbol, inside the first call of the traced function.
"""

from . import text, unknown, version_of, wrap

_TRACING = "tensorflow.python.eager.polymorphic_function.tracing_compilation"
_agent = None
_traced = {}


def start(agent):
    """Wait for the modules of interest; nothing is imported here."""
    global _agent
    _agent = agent
    agent.on_import(_TRACING, _follow_tracing)
    agent.on_import("tensorflow.python.eager.context", _follow_context)
    agent.on_import("tensorflow.python.autograph.pyct.transpiler", _follow_autograph)
    agent.on_import("tensorflow.python.client.session", _follow_session)


def _follow_tracing(module):
    if not wrap(_agent, "tensorflow", module, "_create_concrete_function", "trace", _traced_what):
        unknown(_agent, "tensorflow", "tensorflow", "_create_concrete_function")
        return
    _agent.source("tensorflow", "on", version_of("tensorflow"))


def _traced_what(args, kwargs, result):
    options = args[3] if len(args) > 3 else kwargs.get("tracing_options")
    name = text(getattr(options, "name", ""))
    key = id(getattr(options, "python_function", None))
    number = _traced[key] = _traced.get(key, -1) + 1
    signature = text(args[0] if args else kwargs.get("function_type"))
    return {"fn_name": name, "retrace": number, "signature": signature}


def _follow_context(module):
    context = getattr(module, "Context", None)
    inner = getattr(context, "ensure_initialized", None)
    if inner is None:
        return
    wrap(_agent, "tensorflow", context, "ensure_initialized", "context")
    measured = context.ensure_initialized

    def ensure_initialized(self):
        # called before every operation: only the one that does the work gets a span
        return (inner if getattr(self, "_initialized", False) else measured)(self)

    context.ensure_initialized = ensure_initialized


def _follow_autograph(module):
    def describe(args, kwargs, result):
        return {"fn_name": text(getattr(args[1], "__name__", "") if len(args) > 1 else "")}

    owner = getattr(module, "PyToPy", None)
    wrap(_agent, "tensorflow", owner, "transform_function", "autograph", describe)


def _follow_session(module):
    owner = getattr(module, "BaseSession", None)
    wrap(_agent, "tensorflow", owner, "__init__", "session")
    inner = getattr(owner, "_extend_graph", None)
    if inner is not None:
        wrap(_agent, "tensorflow", owner, "_extend_graph", "extend_graph")
