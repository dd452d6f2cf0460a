"""The hooks against stand-ins for the versions that are not installed here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

FRAMEWORKS = {
    "jax": "jax._src.monitoring",
    "torch": "torch._dynamo.utils",
    "tensorflow": "tensorflow.python.eager.polymorphic_function.tracing_compilation",
    "triton": "triton.compiler.compiler",
    "numba": "numba.core.event",
    "nvrtc": "cupy.cuda.compiler",
    "onnxruntime": "onnxruntime.capi.onnxruntime_inference_collection",
}


@pytest.mark.parametrize(("source", "module"), FRAMEWORKS.items())
def test_a_version_without_the_entry_point_turns_the_source_off(load, agent, source, module):
    load(source).start(agent)
    assert agent.of("source") == []
    agent.imported(module)
    state, reason = agent.state
    assert state == "off"
    assert reason.startswith("unknown version")


@pytest.fixture
def jax(load, agent):
    load("jax").start(agent)
    listeners = SimpleNamespace(duration=[], event=[])
    agent.imported(
        "jax._src.monitoring",
        register_event_duration_secs_listener=listeners.duration.append,
        register_event_listener=listeners.event.append,
    )
    return listeners


def test_jax_durations_become_spans_that_end_now(jax, agent):
    (listener,) = jax.duration
    listener("/jax/core/compile/backend_compile_duration", 0.25, fun_name="step")
    listener("/jax/core/compile/jaxpr_trace_duration", 0.001)
    listener("/jax/some/new_thing", 0.5)
    names = [(name, args) for _, name, args in agent.spans]
    assert names == [("backend_compile", {"fun_name": "step"}), ("trace", {}), ("new_thing", {})]
    _, _, _, start, end, _ = agent.of("span")[0]
    assert end - start == 250_000_000


def test_jax_time_saved_is_no_span(jax, agent):
    jax.duration[0]("/jax/compilation_cache/compile_time_saved_sec", 2.0)
    assert agent.spans == [("point", "jax.saved_ns", {"value": 2_000_000_000, "name": ""})]


def test_jax_cache_events_are_moments_and_others_are_left_out(jax, agent):
    jax.event[0]("/jax/compilation_cache/cache_hits")
    jax.event[0]("/jax/checkpoint/write", size=3)
    assert agent.spans == [("jax", "cache_hits", {})]


def test_a_jax_cache_read_is_one_span(jax, agent):
    cache = agent.imported(
        "jax._src.compilation_cache",
        get_executable_and_time=lambda key, *rest: (None, None) if key == "new" else ("exe", 1),
        put_executable_and_time=lambda key, name, *rest: None,
    )
    cache.get_executable_and_time("old", 1)
    jax.duration[0]("/jax/compilation_cache/cache_retrieval_time_sec", 0.1)
    cache.get_executable_and_time("new", 1)
    cache.put_executable_and_time("new", "jit_f", None)
    assert [(name, args.get("hit")) for _, name, args in agent.spans] == [
        ("cache_read", True),
        ("cache_read", False),
        ("cache_write", None),
    ]


@pytest.mark.parametrize("static", [True, False], ids=["2.4", "2.5 and later"])
def test_torch_phases_nest_and_keep_their_data(load, agent, static):
    calls = []

    def start(*args, **kwargs):
        calls.append(("start", args if static else args[1:], kwargs))

    def end(*args, **kwargs):
        calls.append(("end", args if static else args[1:], kwargs))

    kind = staticmethod if static else (lambda function: function)
    members = {"log_event_start": kind(start), "log_event_end": kind(end)}
    members["get_event_data"] = lambda self: {"dynamo": {"co_name": "f", "secret": "x"}}
    logger_class = type("ChromiumEventLogger", (), members)
    load("torch").start(agent)
    agent.imported("torch._dynamo.utils", ChromiumEventLogger=logger_class)
    logger = logger_class if static else logger_class()
    logger.log_event_start("dynamo", 5, {})
    logger.log_event_start("backend_compile", 6, {})
    logger.log_event_end("backend_compile", 7, {}, 6, 0)
    logger.log_event_end("dynamo", 8, {}, 5, log_pt2_compile_event=False)
    logger.log_event_end("never started", 9, {}, 5, 0)
    assert [name for _, name, _ in agent.spans] == ["backend_compile", "dynamo"]
    assert agent.spans[1][2] == ({} if static else {"co_name": "f"})
    assert [call[1][0] for call in calls] == [
        "dynamo",
        "backend_compile",
        "backend_compile",
        "dynamo",
        "never started",
    ]
    assert calls[3][2] == {"log_pt2_compile_event": False}


def test_torch_overlapping_phases_do_not_confuse_the_stack(load, agent):
    members = {name: lambda *args: None for name in ("log_event_start", "log_event_end")}
    logger_class = type("ChromiumEventLogger", (), members)
    load("torch").start(agent)
    agent.imported("torch._dynamo.utils", ChromiumEventLogger=logger_class)
    logger = logger_class()
    logger.log_event_start("outer", 1)
    logger.log_event_start("aborted", 2)
    logger.log_event_end("outer", 3)
    logger.log_event_start("next", 4)
    logger.log_event_end("next", 5)
    assert [name for _, name, _ in agent.spans] == ["outer", "next"]


def test_a_torch_recompile_has_its_reason(load, agent):
    load("torch").start(agent)
    guards = agent.imported(
        "torch._dynamo.guards",
        get_and_maybe_log_recompilation_reasons=lambda entries, frame, *rest: ["size mismatch"],
    )
    frame = SimpleNamespace(f_code=SimpleNamespace(co_name="step"))
    assert guards.get_and_maybe_log_recompilation_reasons([], frame) == ["size mismatch"]
    assert agent.spans == [("torch", "recompile", {"fn_name": "step", "reason": "size mismatch"})]


def test_tensorflow_retraces_are_numbered(load, agent):
    load("tensorflow").start(agent)
    module = agent.imported(
        "tensorflow.python.eager.polymorphic_function.tracing_compilation",
        _create_concrete_function=lambda *args: "concrete",
    )
    options = SimpleNamespace(name="f", python_function=print)
    module._create_concrete_function(SimpleNamespace(parameters={}), None, None, options)
    module._create_concrete_function(SimpleNamespace(parameters={}), None, None, options)
    assert [(name, args["fn_name"], args["retrace"]) for _, name, args in agent.spans] == [
        ("trace", "f", 0),
        ("trace", "f", 1),
    ]


def test_tensorflow_before_2_11_is_followed_too(load, agent):
    class Function:
        _name, _python_function = "g", print

        def _create_graph_function(self, args, kwargs):
            return "graph"

    load("tensorflow").start(agent)
    agent.imported("tensorflow.python.eager.function", Function=Function)
    assert agent.state[0] == "on"
    assert Function()._create_graph_function((), {}) == "graph"
    assert agent.spans == [("tensorflow", "trace", {"fn_name": "g", "retrace": 0})]


def test_the_tensorflow_context_gets_one_span_however_often_it_is_asked(load, agent):
    class Context:
        _initialized = False

        def ensure_initialized(self):
            self._initialized = True

    load("tensorflow").start(agent)
    agent.imported("tensorflow.python.eager.context", Context=Context)
    context = Context()
    for _ in range(3):
        context.ensure_initialized()
    assert agent.spans == [("tensorflow", "context", {})]


@pytest.mark.parametrize("knobs", [True, False], ids=["3.4 and later", "before"])
def test_a_triton_compile_tells_hit_or_miss_where_it_can(load, agent, knobs):
    load("triton").start(agent)
    heard = []
    compilation = SimpleNamespace(listener=lambda *args, **kwargs: heard.append(kwargs))
    if knobs:
        agent.imported("triton.knobs", compilation=compilation)
    else:
        compilation.listener = lambda *args, **kwargs: None

    def compile_kernel(src, target=None):
        compilation.listener(src=src, metadata={}, metadata_group={}, times=None, cache_hit=True)
        return SimpleNamespace(metadata=SimpleNamespace(name="add"), hash="abc")

    module = agent.imported("triton.compiler.compiler", compile=compile_kernel)
    assert module.compile(SimpleNamespace(name="add")).hash == "abc"
    expected = {"fn_name": "add", "key": "abc", **({"hit": True} if knobs else {})}
    assert agent.spans == [("triton", "compile", expected)]
    assert len(heard) == (1 if knobs else 0)


def test_numba_compiles_nest_and_its_cache_is_followed(load, agent):
    listeners = {}

    class Listener:
        pass

    load("numba").start(agent)
    agent.imported("numba.core.event", Listener=Listener, register=listeners.__setitem__)
    listener = listeners["numba:compile"]

    def event(name):
        dispatcher = SimpleNamespace(py_func=SimpleNamespace(__name__=name))
        return SimpleNamespace(data={"dispatcher": dispatcher, "args": ("int64",)})

    listener.on_start(event("outer"))
    listener.on_start(event("inner"))
    listener.on_end(event("inner"))
    listener.on_end(event("outer"))
    listener.on_end(event("stray"))
    assert [args["fn_name"] for _, _, args in agent.spans] == ["inner", "outer"]

    class Cache:
        _py_func = print

        def load_overload(self, sig, context):
            return None if sig == "new" else "compiled"

    agent.imported("numba.core.caching", Cache=Cache)
    Cache().load_overload("new", None)
    Cache().load_overload("old", None)
    assert [args["hit"] for _, name, args in agent.spans if name == "cache_read"] == [False, True]


def test_nvrtc_names_the_source_it_compiled(load, agent):
    load("nvrtc").start(agent)
    module = agent.imported("cupy.cuda.compiler", compile_using_nvrtc=lambda source, *rest: b"ptx")
    assert agent.state == ("on", "cupy.cuda.compiler")
    assert module.compile_using_nvrtc("extern  void f()\n{}", ()) == b"ptx"
    assert agent.spans == [("nvrtc", "compile", {"bytes": 19, "source": "extern void f() {}"})]


class Session:
    _model_path = None

    def __init__(self, providers):
        self._create_inference_session(providers)

    def _create_inference_session(self, providers):
        self._providers = providers

    def run(self, names, feed):
        """Compute."""
        return names, feed


@pytest.fixture
def session(load, agent):
    load("onnxruntime").start(agent)
    found = type("InferenceSession", (Session,), dict(vars(Session)))
    agent.imported("onnxruntime.capi.onnxruntime_inference_collection", InferenceSession=found)
    return found


def test_onnxruntime_sessions_and_runs_on_the_cpu_become_spans(session, agent):
    assert session(["CPUExecutionProvider"]).run(None, {"x": 1}) == (None, {"x": 1})
    made = {"providers": "['CPUExecutionProvider']", "model": "bytes"}
    assert agent.spans == [
        ("onnxruntime", "create_session", made),
        ("onnxruntime", "run on the CPU", {}),
    ]
    assert session.run.__doc__ == "Compute."


def test_onnxruntime_runs_on_a_card_are_left_to_the_cards_own_records(session, agent):
    session(["CUDAExecutionProvider", "CPUExecutionProvider"]).run(None, {})
    assert [name for _, name, _ in agent.spans] == ["create_session"]


def test_onnxruntime_runs_are_not_followed_for_ever(session, agent):
    serving = session(["CPUExecutionProvider"])
    for _ in range(1100):
        serving.run(None, {})
    assert len(agent.spans) == 1001
