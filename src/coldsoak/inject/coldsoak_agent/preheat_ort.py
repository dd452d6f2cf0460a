"""The stage of preheat that loads models which ONNX Runtime optimised at an earlier start.

A session is made of the kept form of its model where that is known to give the same one: the same
file, the same options as far as they can be read, the same build of ONNX Runtime, the same processor.
The first start writes it, before the program has its session. Whatever is not known to fit is left
alone: then the program's own call is made, as if there were no stage, and the report says why.
"""

import sys
import time

from coldsoak_agent import preheat_ort_cache as cache
from coldsoak_agent.ort import CPU, known
from coldsoak_agent.preheat import Unfit
from coldsoak_agent.preheat_imports import after_import
from coldsoak_agent.preheat_ort_keep import Keeper
from coldsoak_agent.preheat_ort_options import Recorder, look_like, without_this_frame

STAGE = "ort"
MODULE = "onnxruntime.capi.onnxruntime_inference_collection"
HARMLESS = {CPU, "AzureExecutionProvider"}
"""Where no provider is asked for and no other than these is there, the processor does all."""
LOADED, KEPT, ALONE = "kept models loaded", "kept for the next start", "left alone"
"""What became of a session, in the words of the report."""
MOST_REASONS = 5
PARAMETERS = ("self", "providers", "provider_options", "disabled_optimizers")


def start(running, folder):
    """Wait for ONNX Runtime; models are kept in ``folder``."""
    if MODULE in sys.modules:
        raise Unfit("onnxruntime is imported already")
    running.note(STAGE, "running")
    after_import(running, STAGE, MODULE, _Sessions(running, folder).begin)


class _Sessions(object):
    """Makes sessions in place of ONNX Runtime, or lets it make them."""

    def __init__(self, running, folder):
        self.running = running
        self.folder = folder
        self.library = None
        self.made = []  # appended to without a lock, which a fork might leave taken
        self.reasons = []

    def begin(self, module):
        original = _maker(module)
        self.library = module.C
        self.recorder = Recorder(module.C)

        def create(session, *args, **kwargs):
            if self.make(original, session, args, kwargs):
                return None
            try:
                return original(session, *args, **kwargs)
            except BaseException as error:
                without_this_frame(error)
                raise

        look_like(create, original)
        module.InferenceSession._create_inference_session = create

    def make(self, original, session, args, kwargs):
        """Return whether ``session`` was made of a kept model."""
        begin = time.monotonic_ns()

        def load(entry):
            return _load(original, session, args, kwargs, request, entry)

        try:
            request = self.request(session, *args, **kwargs)
            made = _from_cache(request, load)
        except Unfit as reason:
            self.leave_alone(str(reason), begin)
            return False
        except Exception as error:
            self.leave_alone(repr(error), begin)
            return False
        self.made.append(made)
        self.note("done", begin)
        return True

    def request(self, session, providers, provider_options, disabled_optimizers=None):
        """Return what the session is to be made of; raises ``Unfit`` where it is left alone."""
        if not isinstance(session._model_path, str):
            raise Unfit("the model is given as bytes")
        if session._read_config_from_model:
            raise Unfit("the options are read from the model")
        if disabled_optimizers:
            raise Unfit("some optimisers are switched off")
        names = self.providers(providers, provider_options)
        default = self.library.get_default_session_options
        wish = self.recorder.wish(session._sess_options, default)
        return cache.Request(self.library, self.folder, session._model_path, names, wish)

    def providers(self, providers, provider_options):
        """Return the names of the providers, which are none or the processor."""
        names = [one[0] if isinstance(one, tuple) else one for one in providers or ()]
        settings = [one[1] for one in providers or () if isinstance(one, tuple)]
        if any([*settings, *(provider_options or ())]):
            raise Unfit("the provider has options")
        if names not in ([], [CPU]):
            raise Unfit("another provider than the processor is asked for")
        if not names and not HARMLESS.issuperset(self.library.get_available_providers()):
            raise Unfit("no provider is named and there are others than the processor")
        return names

    def leave_alone(self, reason, begin):
        """Count a session that was left alone; the first reason is said where nothing helped yet."""
        helped = self.made.count(LOADED) + self.made.count(KEPT)
        if not helped and not self.reasons:
            self.running.note(STAGE, "off", reason)
        self.made.append(ALONE)
        if reason not in self.reasons:
            self.reasons.append(reason)
        self.note("done" if helped else "off", begin)

    def note(self, state, begin):
        told = [(self.made.count(outcome), outcome) for outcome in (LOADED, KEPT, ALONE)]
        text = ", ".join("%s: %d" % (outcome, number) for number, outcome in told if number)
        if self.reasons:
            text += " (%s)" % "; ".join(self.reasons[:MOST_REASONS])
        self.running.stages[STAGE] = state, " ".join(text.split()), begin, time.monotonic_ns()


def _from_cache(request, load):
    """Return ``LOADED`` or ``KEPT``; raises ``Unfit`` where the session cannot be made of either."""
    entry = request.find()
    if entry is None:
        with Keeper(request) as keeper:
            entry = request.find()  # another process may have been faster
            if entry is None:
                return _keep(keeper, load)
    if load(entry):
        return LOADED
    request.forget(entry)
    raise Unfit("what was kept of %s could not be loaded" % request.name)


def _keep(keeper, load):
    for form in keeper.forms():
        if load(form):
            keeper.keep(form)
            return KEPT
        keeper.refuse("its session differs from that of the model itself")
    raise Unfit(keeper.reason)


def _load(original, session, args, kwargs, request, entry):
    """Let ONNX Runtime make the session of a kept model; tell whether it is the same one."""
    path, options = session._model_path, session._sess_options
    session._model_path, session._sess_options = entry.model, request.wish.to_load()
    made = False
    try:
        original(session, *args, **kwargs)
        made = cache.facts(session._sess) == entry.facts
    except Exception:
        pass
    finally:
        session._model_path = path
        session._sess_options = request.wish.copy() if made else options
    return made


def _maker(module):
    """Return the function that makes sessions; raises ``Unfit`` where it is not the one we know."""
    version = str(getattr(sys.modules.get("onnxruntime"), "__version__", ""))
    if not known(version):
        raise Unfit("onnxruntime %s is not known to this version of coldsoak" % version)
    original = getattr(module.InferenceSession, "_create_inference_session", None)
    code = getattr(getattr(original, "__wrapped__", original), "__code__", None)  # may be traced
    if code is None or code.co_varnames[: code.co_argcount] != PARAMETERS:
        raise Unfit("onnxruntime %s makes its sessions in a way that is not known" % version)
    return original
