"""Which session options are known well enough, on a stand-in for ONNX Runtime's extension."""

import sys
from types import SimpleNamespace

import pytest

DISABLED, ALL = "ORT_DISABLE_ALL", "ORT_ENABLE_ALL"


def a_property(name, default):
    return property(
        lambda self: self.__dict__.get(name, default),
        lambda self, value: self.__dict__.update({name: value}),
    )


def a_library(**more):
    """A module like ``onnxruntime.capi._pybind_state``, with a type of its own at each call."""

    def begin(self, *copied):
        self.entries = {}

    def add(self, *args):
        if args == ("bad", "entry"):
            raise RuntimeError("no such entry")
        self.entries[args[0]] = args[1:]

    methods = {"register_custom_ops_library": add, "add_free_dimension_override_by_name": add}
    properties = {
        "graph_optimization_level": a_property("level", ALL),
        "enable_profiling": a_property("profile", False),  # noqa: FBT003 - a value
        "optimized_model_filepath": a_property("file", ""),
        "log_severity_level": a_property("severity", -1),
        "logid": a_property("logid", ""),
        "intra_op_num_threads": a_property("threads", 0),
    }
    names = {"__init__": begin, "add_session_config_entry": add, "has_providers": bool_of(more)}
    kind = type("SessionOptions", (), {**names, **methods, **properties})
    return SimpleNamespace(
        SessionOptions=kind,
        GraphOptimizationLevel=SimpleNamespace(ORT_DISABLE_ALL=DISABLED, ORT_ENABLE_ALL=ALL),
        get_default_session_options=kind,
    )


def bool_of(more):
    return lambda self: bool(more.get("providers"))


@pytest.fixture
def agent(agent_module):
    return agent_module("preheat_ort_options")


@pytest.fixture
def library():
    return a_library()


@pytest.fixture
def recorder(agent, library):
    return agent.Recorder(library)


def wish(recorder, library, options):
    return recorder.wish(options, library.get_default_session_options)


def test_options_that_are_asked_for_are_in_the_key_and_in_copies(recorder, library):
    options = library.SessionOptions()
    plain = wish(recorder, library, options).key()
    options.intra_op_num_threads = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_free_dimension_override_by_name("n", 5)
    asked = wish(recorder, library, options)
    assert asked.key() != plain
    assert asked.key() != wish(recorder, library, library.SessionOptions()).key()
    for copy in (asked.copy(), asked.to_load(), asked.to_keep("model", "weights")):
        assert copy is not options
        assert copy.intra_op_num_threads == 3
        assert copy.entries["session.intra_op.allow_spinning"] == ("0",)
        assert copy.entries["n"] == (5,)
    assert asked.copy().graph_optimization_level == ALL
    assert asked.to_load().graph_optimization_level == DISABLED
    assert (options.graph_optimization_level, len(options.entries)) == (ALL, 2), "as they were"


def test_what_changes_no_graph_is_not_in_the_key_and_in_copies_all_the_same(recorder, library):
    options = library.SessionOptions()
    options.logid = "mine"
    asked = wish(recorder, library, options)
    assert asked.key() == wish(recorder, library, None).key()
    assert asked.copy().logid == "mine"


def test_packed_weights_are_written_unless_packing_is_off(agent, recorder, library):
    options = library.SessionOptions()
    assert agent.PACKED in wish(recorder, library, options).to_keep("m", "w").entries
    assert agent.PACKED not in wish(recorder, library, options).to_keep("m", "").entries
    options.add_session_config_entry("session.disable_prepacking", "1")
    assert agent.PACKED not in wish(recorder, library, options).to_keep("m", "w").entries


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda o: o.register_custom_ops_library("x.so"), "register_custom_ops_library was called"),
        (lambda o: o.add_session_config_entry("ep.share", "1"), "have an entry ep.share"),
        (lambda o: o.add_session_config_entry("session.disable_prepacking"), "was called"),
        (lambda o: setattr(o, "enable_profiling", True), "is profiled"),
        (lambda o: setattr(o, "optimized_model_filepath", "m"), "written itself"),
        (lambda o: setattr(o, "graph_optimization_level", DISABLED), "switches optimisations off"),
    ],
)
def test_what_is_not_known_or_not_fit_is_told(agent, recorder, library, change, why):
    options = library.SessionOptions()
    change(options)
    with pytest.raises(agent.Unfit, match=why):
        wish(recorder, library, options)


def test_options_from_elsewhere_are_not_known(agent, library):
    before = library.SessionOptions()
    recorder = agent.Recorder(library)
    with pytest.raises(agent.Unfit, match="not made by the program itself"):
        wish(recorder, library, before)
    with pytest.raises(agent.Unfit, match="__init__ was called"):
        wish(recorder, library, library.SessionOptions(before))
    before.add_free_dimension_override_by_name("n", 5)
    with pytest.raises(agent.Unfit, match="something was called"):
        wish(recorder, library, before)


def test_options_with_providers_are_left_alone(agent):
    library = a_library(providers=True)
    with pytest.raises(agent.Unfit, match="have providers"):
        wish(agent.Recorder(library), library, library.SessionOptions())


def test_a_call_that_fails_is_not_noted_and_fails_as_always(recorder, library):
    options = library.SessionOptions()
    with pytest.raises(RuntimeError, match="no such entry") as caught:
        options.add_session_config_entry("bad", "entry")
    assert wish(recorder, library, options).key() == wish(recorder, library, None).key()
    frames = [entry.name for entry in caught.traceback]
    assert ("method" in frames) == (sys.version_info < (3, 11))


def test_options_that_are_gone_are_forgotten(recorder, library):
    options = library.SessionOptions()
    count = len(recorder.calls)
    del options
    assert len(recorder.calls) == count - 1


def test_unknown_options_change_nothing(agent):
    library = a_library()
    library.get_default_session_options = SimpleNamespace
    methods = dict(vars(library.SessionOptions))
    with pytest.raises(AttributeError):
        agent.Recorder(library)
    assert dict(vars(library.SessionOptions)) == methods
