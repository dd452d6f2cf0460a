"""Runs the main script in rewritten form, in CPython's own way, with no frame of ours below it.

Before CPython runs a script it asks ``sys.path_hooks`` whether the path is a folder or an archive
with a ``__main__``; if so it calls ``runpy._run_module_as_main``. A hook that says yes to exactly
this script therefore decides what runs. ``sys.modules["runpy"]`` is replaced for that one call by
a stand-in that is built from C callables only, so that tracebacks, ``sys._getframe`` and
``traceback.print_stack`` show what they show without coldsoak, and ``runpy`` is never imported.

A script that need not be rewritten, or that this file cannot run exactly (it does not compile,
cannot be read, is bytecode, an archive, a pipe) is left to CPython: the hook declines and nothing
has happened. That also spares it the millisecond in which the first ``compile`` makes the types
of ``_ast``.
"""

import os
import sys
from _collections import defaultdict
from _functools import partial
from time import monotonic_ns

from coldsoak_agent import process, userfiles
from coldsoak_agent.core import agent

__all__ = ["how", "install"]

_REGULAR = 0o100000
_FORMAT_MASK = 0o170000
_MAX_SCRIPT = 1 << 24


def how():
    """Return how the interpreter was started: script, module, command, stdin or interactive."""
    first = sys.argv[0] if getattr(sys, "argv", None) else ""
    if first == "-c":
        return "command"
    if first == "-m":
        return "module"
    if first not in ("", "-"):
        return "script"
    return "interactive" if sys.flags.interactive or _is_terminal() else "stdin"


def _is_terminal():
    try:
        return os.isatty(0)
    except OSError:
        return False


def install():
    """Offer to run the script, if there is one."""
    if how() == "script" and not _skips_first_line():
        hook = _Hook(sys.argv[0])
        sys.path_hooks.append(hook)
        process.before_run(hook.forget)


def _skips_first_line():
    """Tell whether ``-x`` was given: line 1 of the script is then no Python."""
    from coldsoak_agent.core import _command_line

    for argument in _command_line()[1:]:
        if argument == sys.argv[0] or not argument.startswith("-"):
            return False
        flags = argument.partition("W")[0].partition("X")[0]
        if not argument.startswith("--") and "x" in flags:
            return True
    return False


class _Hook:
    """A path hook that accepts one script, once."""

    def __init__(self, script):
        self._expected = os.path.abspath(script)

    def __call__(self, path):
        if os.path.abspath(path) != self._expected or _has_caller():
            raise ImportError("not a path of this hook")
        stand_in = agent.guard(self._prepare, path)
        if stand_in is None:
            raise ImportError("left to the interpreter")
        sys.modules["runpy"] = stand_in
        return self

    def _prepare(self, path):
        source = _read_script(path)
        if source is None:
            return None
        code = userfiles.compile_source(source, path, "__main__")
        if code is None and agent.rerun > 1:
            code = _compile(source, path)
        if code is None:
            return None
        script = _Script(path, sys.modules.get("runpy"))
        process.taken()
        stand_in = type(sys)("runpy")
        stand_in._run_module_as_main = script.call(code)
        return stand_in

    def forget(self):
        """Take back every trace of the hook; CPython has asked it by now."""
        sys.path_hooks.remove(self)
        for path, importer in list(sys.path_importer_cache.items()):
            if importer is self:
                del sys.path_importer_cache[path]


def _has_caller():
    """Tell whether Python code is below: an import, where CPython would ask for the script."""
    try:
        return sys._getframe(2) is not None
    except ValueError:
        return False


def _compile(source, path):
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except Exception:
        return None


def _read_script(path):
    """Return the bytes of a script in source form, or None for anything else."""
    try:
        status = os.stat(path)
        if status.st_mode & _FORMAT_MASK != _REGULAR or status.st_size > _MAX_SCRIPT:
            return None
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        source = b""
        while len(source) < status.st_size:
            part = os.read(fd, status.st_size - len(source))
            if not part:
                break
            source += part
    except OSError:
        return None
    finally:
        os.close(fd)
    from _frozen_importlib_external import MAGIC_NUMBER

    return None if path.endswith(".pyc") or source[:2] == MAGIC_NUMBER[:2] else source


class _Script:
    """What happens around the script; CPython drops its last reference when the script is over."""

    def __init__(self, path, runpy):
        self._path = path
        self._runpy = runpy
        self._globals = sys.modules["__main__"].__dict__
        self._running = False
        self._repeat = 1

    def call(self, code):
        """Return a callable without Python frames that runs the script.

        ``str.format`` looks up one item of each argument; each lookup makes a ``defaultdict`` call
        its factory. Attribute lookups would not do: they add names to an ``AttributeError``.
        """
        run = defaultdict(partial(exec, code, self._globals))
        repeat = defaultdict(self._before_repeat)
        form = "{0[0]}{1[0]}"
        for number in range(1, agent.rerun):
            form += "{2[%d]}{1[%d]}" % (number, number)
        before, after = defaultdict(self._before), defaultdict(self._after)
        return partial(str.format, form + "{3[0]}", before, run, repeat, after)

    def _before(self):
        if self._runpy is None:
            sys.modules.pop("runpy", None)
        else:
            sys.modules["runpy"] = self._runpy
        if getattr(sys.flags, "safe_path", False):
            del sys.path[0]
        else:
            sys.path[0] = os.path.dirname(os.path.realpath(self._path))
        self._set_globals()
        self._running = True
        process.main_start()

    def _set_globals(self):
        """Give ``__main__`` what ``pymain_run_file`` gives it (Python/pythonrun.c)."""
        from _frozen_importlib_external import SourceFileLoader

        values = self._globals
        values["__file__"] = self._path
        if sys.version_info < (3, 15):
            values["__cached__"] = None
        values["__loader__"] = SourceFileLoader("__main__", self._path)

    def _before_repeat(self):
        agent.phase("rerun_start", str(self._repeat))
        self._repeat += 1

    def _after(self):
        self._running = False
        process.main_end("returned")
        _flush_streams()
        forget_file(self._globals)

    def __del__(self):
        """Note the end of a script that raised; CPython reports the exception right after this."""
        if self._running:
            process.main_raised(monotonic_ns(), partial(forget_file, self._globals))
            _flush_streams()
            if sys.version_info >= (3, 14):  # tidies before it reports, not after
                forget_file(self._globals)


def _flush_streams():
    """Flush as CPython does between a script and its traceback (``flush_io``)."""
    _flush_stream("stderr")
    _flush_stream("stdout")


def _flush_stream(name):
    try:
        getattr(sys, name).flush()
    except Exception:
        pass


def forget_file(values):
    """Delete what CPython deletes from ``__main__`` once the script has ended."""
    values.pop("__file__", None)
    values.pop("__cached__", None)
