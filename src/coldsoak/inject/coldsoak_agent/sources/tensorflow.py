"""TensorFlow: tracing of ``tf.function``, AutoGraph, start of the eager context, TF1 sessions.

Grappler and XLA run in native code and have no Python entry point; their time shows in the
samples by symbol, inside the first call of the traced function.
"""

from . import text, unknown, version_of, wrap

_TRACING = (
    ("tensorflow.python.eager.polymorphic_function.tracing_compilation", None),
    ("tensorflow.python.eager.polymorphic_function.tracing_compiler", "TracingCompiler"),
    ("tensorflow.python.eager.function", "Function"),
)
"""Where functions are traced: from 2.13 on, in 2.11 and 2.12, before. Module, class or None."""
_agent = None
_traced = {}


def start(agent):
    """Wait for the modules of interest; nothing is imported here."""
    global _agent
    _agent = agent
    for name, _ in _TRACING:
        agent.on_import(name, _follow_tracing)
    agent.on_import("tensorflow.python.eager.context", _follow_context)
    agent.on_import("tensorflow.python.autograph.pyct.transpiler", _follow_autograph)
    agent.on_import("tensorflow.python.client.session", _follow_session)


def _follow_tracing(module):
    owner = dict(_TRACING)[module.__name__]
    target = module if owner is None else getattr(module, owner, None)
    found = [
        wrap(_agent, "tensorflow", target, name, "trace", _traced_what)
        for name in ("_create_concrete_function", "_create_graph_function")
    ]
    if any(found):
        _agent.source("tensorflow", "on", version_of("tensorflow"))
    elif module.__name__ == _TRACING[0][0]:
        unknown(_agent, "tensorflow", "tensorflow", "_create_concrete_function")


def _traced_what(args, kwargs, result):
    options = args[3] if len(args) > 3 else kwargs.get("tracing_options", args[0])
    function = getattr(options, "python_function", getattr(options, "_python_function", None))
    name = getattr(options, "name", None) or getattr(options, "_name", None)
    number = _traced[id(function)] = _traced.get(id(function), -1) + 1
    details = {"fn_name": text(name or ""), "retrace": number}
    if hasattr(args[0], "parameters"):
        details["signature"] = text(args[0])
    return details


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
