"""What a program asked of ONNX Runtime's session options, and copies of them.

The extension type tells its properties and no more. So the methods by which a program changes one are
followed: calls that are known not to matter, or that can be made again on a copy, are noted; after any
other call, and where the object was not made by the program's own call, the options are not known.
"""

import weakref

from coldsoak_agent.preheat import Unfit

ADD_ENTRY = "add_session_config_entry"
REPEATED = {
    ADD_ENTRY,
    "add_free_dimension_override_by_denotation",
    "add_free_dimension_override_by_name",
}
READ_ONLY = {"get_session_config_entry", "has_providers"}
NO_MATTER = {"log_severity_level", "log_verbosity_level", "logid", "profile_file_prefix"}
"""Properties that change nothing of the session's graph."""
ENTRIES = (
    "mlas.",
    "optimization.",
    "session.allow_released_opsets_only",
    "session.disable_aot_function_inlining",
    "session.disable_double_qdq_remover",
    "session.disable_prepacking",
    "session.disable_quant_qdq",
    "session.dynamic_block_base",
    "session.enable_quant_qdq_cleanup",
    "session.force_spinning_stop",
    "session.inter_op.",
    "session.intra_op",
    "session.qdq",
    "session.set_denormal_as_zero",
    "session.strict_shape_type_inference",
    "session.use_device_allocator_for_initializers",
    "session.use_env_allocators",
    "session.x64quantprecision",
)
"""Beginnings of configuration entries that mean the same for a kept model as for the model itself."""
NO_OPTIMISATION, FATAL = "ORT_DISABLE_ALL", 4
EXTERNAL = "session.optimized_model_external_initializers_"
EXTERNAL_FROM_BYTES = "1024"
PACKED = "session.save_external_prepacked_constant_initializers"


class Recorder(object):
    """Follows what is called on session options from now on."""

    def __init__(self, library):
        self.kind = library.SessionOptions
        self.calls = weakref.WeakKeyDictionary()
        self.properties = [
            name for name, value in vars(self.kind).items() if isinstance(value, property)
        ]
        self.levels = library.GraphOptimizationLevel
        self._try_to_copy(library.get_default_session_options())
        for name in list(vars(self.kind)):
            if name == "__init__" or not (name.startswith("_") or name in READ_ONLY):
                self.follow(name)

    def _try_to_copy(self, options):
        """Raise what goes wrong with a copy of options, before anything is changed."""
        made = self.kind()
        for name in self.properties:
            setattr(made, name, getattr(options, name))
        if not callable(getattr(self.kind, ADD_ENTRY, None)):
            raise Unfit("onnxruntime has other session options than those that are known")

    def follow(self, name):
        original = getattr(self.kind, name)
        if not callable(original):
            return

        def method(options, *args, **kwargs):
            try:
                result = original(options, *args, **kwargs)
            except BaseException as error:
                without_this_frame(error)
                raise
            self.note(options, name, args, kwargs)
            return result

        look_like(method, original)
        setattr(self.kind, name, method)

    def note(self, options, name, args, kwargs):
        if name == "__init__":
            self.calls[options] = [] if not args and not kwargs else [(name, ())]
        else:
            call = name, args if not kwargs and len(args) == 2 else ()
            self.calls.setdefault(options, [("something", ())]).append(call)

    def wish(self, options, default):
        """Return what ``options`` ask for, None for those of ``default()``; ``Unfit`` if not known."""
        if options is None:
            return Wish(self, default(), [])
        if type(options) is not self.kind:
            raise Unfit("the session options are of a class of the program's own")
        calls = self.calls.get(options)
        if calls is None:
            raise Unfit("the session options were not made by the program itself")
        return Wish(self, options, list(calls))


class Wish(object):
    """What a session is asked to be, and options that ask for it.

    Raises ``Unfit`` where a kept model would not give that.
    """

    def __init__(self, recorder, options, calls):
        self.recorder = recorder
        self.values = {name: getattr(options, name) for name in recorder.properties}
        self.calls = calls
        has_providers = getattr(options, "has_providers", None)
        if has_providers is not None and has_providers():
            raise Unfit("the session options have providers")
        if self.values.get("enable_profiling"):
            raise Unfit("the session is profiled")
        if self.values.get("optimized_model_filepath"):
            raise Unfit("the program has the optimised model written itself")
        if self.values["graph_optimization_level"] == getattr(recorder.levels, NO_OPTIMISATION):
            raise Unfit("the program switches optimisations off")
        self.entries = _entries(calls)

    def key(self):
        """Return what the graph of the session depends on, as JSON has it."""
        values = {name: str(value) for name, value in self.values.items() if name not in NO_MATTER}
        overrides = [[name, *args] for name, args in self.calls if name != ADD_ENTRY]
        return [values, self.entries, overrides]

    def copy(self, **values):
        """Return new options that ask for the same, but for the properties ``values``."""
        made = self.recorder.kind()
        for name, value in dict(self.values, **values).items():
            if getattr(made, name) != value:
                setattr(made, name, value)
        for name, args in self.calls:
            getattr(made, name)(*args)
        return made

    def to_load(self):
        """Return options for a model on which all optimisations were done."""
        return self.copy(graph_optimization_level=getattr(self.recorder.levels, NO_OPTIMISATION))

    def to_keep(self, model, weights):
        """Return options that write the optimised model to the file ``model``, saying nothing.

        ``weights`` names a file beside it for what is to be mapped into memory, packed as the
        kernels want it; empty for one file with all.
        """
        made = self.copy(optimized_model_filepath=model, log_severity_level=FATAL)
        if weights:
            made.add_session_config_entry(EXTERNAL + "file_name", weights)
            made.add_session_config_entry(EXTERNAL + "min_size_in_bytes", EXTERNAL_FROM_BYTES)
            if self.entries.get("session.disable_prepacking", "0") == "0":
                made.add_session_config_entry(PACKED, "1")
        return made


def _entries(calls):
    """Return the configuration entries that were set; raises ``Unfit`` for a call that is not known."""
    entries = {}
    for name, args in calls:
        if name not in REPEATED or not args:
            raise Unfit("SessionOptions.%s was called" % name)
        if name == ADD_ENTRY:
            if not str(args[0]).startswith(ENTRIES):
                raise Unfit("the session options have an entry %s" % args[0])
            entries[args[0]] = args[1]
    return entries


def look_like(method, original):
    """Give ``method`` what a reader of the program sees of ``original``."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = getattr(original, name, None)
        if isinstance(value, str):
            setattr(method, name, value)


def without_this_frame(error):
    """Take the caller's frame out of the traceback of ``error``, which it then raises bare.

    So a traceback reads as without us; Python 3.10 and older put the frame back.
    """
    error.__traceback__ = error.__traceback__.tb_next
