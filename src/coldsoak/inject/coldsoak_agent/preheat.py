"""Does the slow parts of a first run beside the imports, before the program asks for them.

A plan is a text, one ``word value`` a line, made from a recipe by ``coldsoak exec`` (environment
variable ``COLDSOAK_PREHEAT``) or ``coldsoak.preheat``:

``script NAME``    only the process whose script or module has this name
``quiet``          say nothing about stages that are switched off
``context N``      create the primary CUDA context of device N on a thread
``library PATH``   then open this library there (cuBLASLt, cuBLAS, in order) and run small products
``env NAME=VALUE`` CUDA variables of the recorded run; any difference switches the CUDA stages off
``readahead PATH`` file of page ranges (``coldsoak.remedies.record``), read ahead by threads
``record PATH``    write at the exit what was touched (``coldsoak_agent.touched``)
``gc PACKAGE``     no collection while this package is imported; what it made is frozen then
``isa PATH``       file of trials of vector instructions (``preheat_isa``), answered from it
``keys PATH``      file of keys of compile caches (``preheat_keys``), taken from it
``ort FOLDER``     of models that ONNX Runtime has optimised (``preheat_ort``), loaded or kept there

The rules that make this safe, each with a test in ``tests/unit/remedies_preheat``: only the driver
API is called on the thread, as foreign calls that release the interpreter's lock; ``libcuda`` is
opened and its symbols are resolved before the thread starts, because the loader's lock serialises
everything; libraries are opened through ``dlopen`` itself, never through ``ctypes.CDLL``, which
keeps the interpreter's lock for the whole call; nothing imports, and no library that knows Python
is opened, on a thread; CUDA is left alone when the environment differs, when the card is shared by
MPS, cut by MIG or not in default compute mode, when there is no card, when the arguments ask for
help; a fork and the exit of the process wait for the thread. A stage that fails is reported and
otherwise ignored.
"""

import os
import sys
import time

import _thread

EXIT_WAIT_S = 5.0
FORK_WAIT_S = 30.0
NEVER = 2**31 - 1  # the largest threshold that the collector takes

handle = None


class Handle(object):
    """A running preheat.

    ``stages`` maps the name of a stage to ``(state, text, begin_ns, end_ns)``; state is ``done``,
    ``running``, ``off`` or ``failed``, times are CLOCK_MONOTONIC.
    """

    def __init__(self, quiet=True):
        self.begin_ns = time.monotonic_ns()
        self.pid = os.getpid()
        self.stages = {}
        self.quiet = quiet
        self.busy = []
        self.frozen_env = None

    def wait(self, timeout=None):
        """Wait until all threads are done; return whether they are. ``timeout`` in seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for lock in self.busy:
            left = -1 if deadline is None else max(0.0, deadline - time.monotonic())
            if not lock.acquire(True, left):
                return False
            lock.release()
        return True

    def report(self):
        """Return a copy of ``stages``."""
        return dict(self.stages)

    def note(self, stage, state, text="", begin=None, end=None):
        """Keep the state of a stage; one that is off or failed is said on stderr, once."""
        now = time.monotonic_ns()
        self.stages[stage] = (state, text, begin or now, end or now)
        if state in {"off", "failed"} and text and not self.quiet:
            try:
                sys.stderr.write("coldsoak: preheat: %s %s: %s\n" % (stage, state, text))
            except Exception:
                pass

    def spawn(self, stage, work):
        """Run ``work`` on a thread; its result is the stage's text, an exception its failure."""
        lock = _thread.allocate_lock()
        lock.acquire()
        self.note(stage, "running")
        begin = time.monotonic_ns()

        def body():
            try:
                self.note(stage, "done", work() or "", begin)
            except Unfit as reason:
                self.note(stage, "off", str(reason), begin)
            except Exception as error:
                self.note(stage, "failed", str(error), begin)
            finally:
                lock.release()

        _thread.start_new_thread(body, ())
        self.busy.append(lock)


class Unfit(Exception):
    """The stage does not fit this process."""


class Unwanted(Unfit):
    """The process will not need the stage, which is nothing to speak of."""


def start(plan):
    """Start all stages of ``plan`` that fit; return the handle at once.

    A process is preheated once: a second call returns the first handle.
    """
    global handle
    wanted = {}
    for line in plan.splitlines():
        word, _, value = line.partition(" ")
        wanted.setdefault(word, []).append(value)
    if handle is not None and handle.stages:
        return handle
    handle = Handle(quiet="quiet" in wanted)
    for stage, begin in _STAGES:
        if stage in wanted:
            _begin(handle, stage, begin, wanted)
    if handle.busy:
        os.register_at_fork(before=_before_fork)
        import atexit

        atexit.register(_at_exit, handle)
    return handle


def _begin(running, stage, begin, wanted):
    try:
        begin(running, wanted)
    except Unwanted:
        running.note(stage, "off")
    except Unfit as reason:
        running.note(stage, "off", str(reason))
    except Exception as error:
        running.note(stage, "failed", repr(error))


def _before_fork():
    handle.wait(FORK_WAIT_S)


def _at_exit(running):
    """Let the driver finish what it began; say when it started with an environment now changed."""
    if running.pid != os.getpid():
        return  # a forked child that leaves by the interpreter's usual way
    running.wait(EXIT_WAIT_S)
    if running.frozen_env is not None:
        late = [name for name, was in running.frozen_env.items() if os.environ.get(name) != was]
        if late:
            text = "%s was set after the driver had started, which did not see it" % ", ".join(late)
            running.note("environment", "failed", text)


def start_from_environment():
    """Start the plan in ``COLDSOAK_PREHEAT`` if it is meant for this process, and take it out."""
    plan = os.environ.get("COLDSOAK_PREHEAT")
    if not plan:
        return None
    for line in plan.splitlines():
        word, _, value = line.partition(" ")
        if word == "script" and value != script_name(command_line()):
            return None
    del os.environ["COLDSOAK_PREHEAT"]
    if "COLDSOAK_SPOOL" not in os.environ:
        _leave_path()
    target = os.environ.pop("COLDSOAK_PREHEAT_REPORT", None)
    if target:
        import atexit

        atexit.register(lambda: write_report(handle, target))
    return start(plan)


def _leave_path():
    """Take this folder out of the ``PYTHONPATH`` that children inherit: it has done its work."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [part for part in parts if part != folder]
    if kept:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)


def write_report(running, path):
    """Append one line a stage: pid, name, state, begin and end relative to the start in ms, text."""
    if running is None or running.pid != os.getpid():
        return
    try:
        with open(path, "a") as file:
            for stage, (state, text, begin, end) in running.report().items():
                at, until = (begin - running.begin_ns) / 1e6, (end - running.begin_ns) / 1e6
                file.write(
                    "%d\t%s\t%s\t%.3f\t%.3f\t%s\n" % (os.getpid(), stage, state, at, until, text)
                )
    except OSError:
        pass


def script_name(words):
    """Return the base name of the script, ``-c``, or the module after ``-m``, of a command line.

    ``words`` begin with the interpreter; options may be joined, as in ``-um pdb`` or ``-Werror``.
    """
    rest = iter(words[1:])
    for word in rest:
        if word == "--check-hash-based-pycs":
            next(rest, None)
        elif word == "-" or not word.startswith("-"):
            return os.path.basename(word)
        elif not word.startswith("--"):
            for at, letter in enumerate(word[1:], 2):
                if letter == "c":
                    return "-c"
                if letter == "m":
                    return word[at:] or next(rest, "")
                if letter in "WX":
                    if not word[at:]:
                        next(rest, None)
                    break
    return ""


def command_line():
    """Return the words that this interpreter was started with."""
    words = getattr(sys, "orig_argv", None)
    if words:
        return words
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return list(sys.argv)


def replace_import(find_and_load):
    """Let ``find_and_load(name, import_)`` stand for CPython's own.

    Tracebacks leave out the frames of that file name, so an ImportError looks as without us.
    """
    import _frozen_importlib

    code = find_and_load.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    find_and_load.__code__ = code
    _frozen_importlib._find_and_load = find_and_load


def _start_gc(running, wanted):
    """Import the packages with a threshold that is never reached.

    ``gc.disable`` and a threshold of 0 are words of the program, which this must not take back.
    """
    import gc

    import _frozen_importlib

    packages = set(wanted["gc"])
    original = _frozen_importlib._find_and_load
    frozen = []

    def find_and_load(name, import_):
        kept = gc.get_threshold()
        if name not in packages or not gc.isenabled() or kept[0] in {0, NEVER}:
            return original(name, import_)
        gc.set_threshold(NEVER, *kept[1:])
        try:
            module = original(name, import_)
        finally:
            if gc.get_threshold()[0] == NEVER:
                gc.set_threshold(*kept)
        gc.freeze()
        packages.discard(name)
        frozen.append(name)
        running.note("gc", "done", " ".join(frozen))
        if not packages and _frozen_importlib._find_and_load is find_and_load:
            _frozen_importlib._find_and_load = original
        return module

    replace_import(find_and_load)
    running.note("gc", "running")


def _readahead(running, wanted):
    from coldsoak_agent import preheat_readahead

    preheat_readahead.start(running, wanted["readahead"][0])


def _cuda(running, wanted):
    from coldsoak_agent import preheat_cuda

    preheat_cuda.start(running, wanted)


def _isa(running, wanted):
    from coldsoak_agent import preheat_isa

    preheat_isa.start(running, wanted["isa"][0])


def _keys(running, wanted):
    from coldsoak_agent import preheat_keys

    preheat_keys.start(running, wanted["keys"][0])


def _ort(running, wanted):
    from coldsoak_agent import preheat_ort

    preheat_ort.start(running, wanted["ort"][0])


def _record(running, wanted):
    from coldsoak_agent import touched

    touched.write_at_exit(wanted["record"][0])


_STAGES = (
    ("record", _record),
    ("gc", _start_gc),
    ("isa", _isa),
    ("keys", _keys),
    ("ort", _ort),
    ("readahead", _readahead),
    ("context", _cuda),
)
