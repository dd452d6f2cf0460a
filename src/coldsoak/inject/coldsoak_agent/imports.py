"""Import spans, bytecode compiles and garbage collections; calls back when a module is there.

``importlib`` holds a ``_ModuleLockManager`` exactly while it finds and executes a module, so its
``__enter__`` and ``__exit__`` see every real import with no frame of ours in a traceback. The
functions that are replaced for finer spans do what the originals do and wear their name, file and
line, so that a traceback through them reads the same.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _imp
import gc
import os
import sys
from _thread import get_ident, get_native_id
from time import monotonic_ns

from coldsoak_agent.core import agent
from coldsoak_agent.userfiles import compile_source, is_user_file, may_be_rewritten

__all__ = ["install", "on_import", "quietly", "uninstall"]

_WORTH_WRITING_NS = 100_000_000
"""After an import statement that took this long the spool is written, lest a kill lose it."""

_get_module_lock = bootstrap._get_module_lock
_call = bootstrap._call_with_frames_removed
_module_dict = type(sys).__dict__["__dict__"].__get__
_modules = sys.modules
_stacks = {}
"""Imports under way, outermost first, by thread."""
_callbacks = {}
_gc_start = 0


class _ModuleLockManager:
    """Holds a module's lock while the module is loaded, and times that."""

    __slots__ = ("_lock", "_name", "compile_ns", "depth", "gc_ns", "hidden", "start_ns")

    def __init__(self, name):
        self._name = name
        self._lock = None

    def __enter__(self):
        start_ns = monotonic_ns()
        self._lock = _get_module_lock(self._name)
        self._lock.acquire()
        if self._name in _modules:  # loaded by another thread meanwhile, or reloaded
            self.start_ns = 0
            return
        self.start_ns = start_ns
        self.compile_ns = self.gc_ns = 0
        stack = _stacks.setdefault(get_ident(), [])
        self.depth = len(stack)
        self.hidden = stack[-1].hidden if stack else False
        if not self.hidden and self._name.startswith("coldsoak_agent"):
            self.hidden = True
        stack.append(self)

    def __exit__(self, kind, *_exception):
        self._lock.release()
        if self.start_ns:
            try:
                self._finish(kind)
            except Exception as error:
                agent.note("agent_failed", "import of %s: %r" % (self._name, error))

    def _finish(self, kind):
        end_ns = monotonic_ns()
        ident = get_ident()
        stack = _stacks[ident]
        while stack.pop() is not self:
            pass
        if stack:
            stack[-1].gc_ns += self.gc_ns
        else:
            del _stacks[ident]
        if not self.hidden:
            self._record(kind, end_ns)
        if kind is None and self._name in _callbacks:
            _call_back(self._name)
        if not self.depth and end_ns - self.start_ns > _WORTH_WRITING_NS:
            agent.spool.flush()

    def _record(self, kind, end_ns):
        agent.emit(
            "import",
            self._name,
            get_native_id(),
            self.start_ns,
            end_ns,
            self.depth,
            _origin(self._name) if kind is None else "",
            self.compile_ns,
            self.gc_ns,
            "" if kind is None else kind.__name__,
        )


def quietly(function, *args):
    """Call a part of the agent whose imports are not the program's; they use their bytecode."""
    kept = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ.get("COLDSOAK_BYTECODE")
    collects = gc.isenabled()
    gc.disable()  # syntax trees are many objects and no garbage
    cover = _ModuleLockManager("coldsoak_agent")
    cover.hidden = True
    cover.gc_ns = cover.compile_ns = 0
    ident = get_ident()
    stack = _stacks.setdefault(ident, [])
    stack.append(cover)
    try:
        return function(*args)
    finally:
        if collects:
            gc.enable()
        sys.dont_write_bytecode, sys.pycache_prefix = kept
        while stack.pop() is not cover:
            pass
        if not stack:
            _stacks.pop(ident, None)


def _is_hidden():
    stack = _stacks.get(get_ident())
    return bool(stack) and stack[-1].hidden


def _origin(name):
    """Return the file of a loaded module without waking up modules that load themselves lazily."""
    try:
        origin = _module_dict(_modules[name])["__spec__"].origin
    except (KeyError, TypeError, AttributeError):
        return ""
    return origin if type(origin) is str else ""


def on_import(name, callback):
    """Call ``callback(module)`` after ``name`` was executed; at once if it already was."""
    if name in _modules and not _is_loading(name):
        agent.guard(callback, _modules[name])
    else:
        _callbacks.setdefault(name, []).append(callback)


def _is_loading(name):
    return any(item._name == name for stack in list(_stacks.values()) for item in stack)


def _call_back(name):
    start = monotonic_ns()
    for callback in _callbacks.pop(name):
        quietly(agent.guard, callback, _modules[name])
    agent.cost("on_import " + name, start, monotonic_ns())


# Garbage collections


def _on_gc(phase, info):
    global _gc_start
    if phase == "start":
        _gc_start = monotonic_ns()
        return
    end = monotonic_ns()
    stack = _stacks.get(get_ident())
    if stack:
        stack[-1].gc_ns += end - _gc_start
    if _traced:
        args = {"collected": info["collected"]}
        name = "gen%d" % info["generation"]
        agent.emit("span", "gc", name, get_native_id(), _gc_start, end, args)


# Functions of importlib that are replaced by look-alikes


def _is_watched(loader, path):
    """Tell whether ``loader`` loads a user's file; ``py_compile`` writes a file that outlives us."""
    return is_user_file(path) and getattr(loader, "name", "") != "<py_compile>"


def _source_to_code(self, data, path, *, _optimize=-1):
    start = monotonic_ns()
    if _optimize == -1 and _is_watched(self, path):
        code = compile_source(data, path, getattr(self, "name", ""))
        if code is not None:
            return code
    try:
        return _call(compile, data, path, "exec", dont_inherit=True, optimize=_optimize)
    finally:
        _compiled(path, start)


def _compiled(path, start):
    end = monotonic_ns()
    stack = _stacks.get(get_ident())
    if stack:
        stack[-1].compile_ns += end - start
    if _traced and not _is_hidden():
        agent.emit("span", "import.compile", path, get_native_id(), start, end, {})


def _path_stats(self, path):
    """Return the metadata for the path; none for a file to be rewritten, so that no bytecode is used.

    ``get_code`` reads and writes bytecode only for sources of which it knows the age.
    """
    if _is_watched(self, path) and may_be_rewritten(path):
        raise OSError("rewritten source has no bytecode file")
    status = external._path_stat(path)
    return {"mtime": status.st_mtime, "size": status.st_size}


class _Span:
    """A span of this thread around a ``with`` block."""

    __slots__ = ("_args", "_name", "_source", "_start")

    def __init__(self, source, name, args=None):
        self._source = source
        self._name = name
        self._args = args or {}
        self._start = monotonic_ns()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        end = monotonic_ns()
        if not _is_hidden():
            thread = get_native_id()
            agent.emit("span", self._source, self._name, thread, self._start, end, self._args)


def _exec_module(self, module):
    """Execute the module."""
    code = self.get_code(module.__name__)
    if code is None:
        raise ImportError(f"cannot load module {module.__name__!r} when get_code() returns None")
    with _Span("import.exec", module.__name__):
        _call(exec, code, module.__dict__)


def _create_module(self, spec):
    with _Span("dlopen", spec.name, {"file": self.path}):
        return _call(_imp.create_dynamic, spec)


def _get_data(self, path):
    with _Span("import.read", str(path)), external._io.open_code(str(path)) as file:
        return file.read()


def _find_spec(name, path, target=None):
    with _Span("import.find", name):
        return _original_find_spec(name, path, target)


_original_find_spec = bootstrap._find_spec


def _disguise(replacement, original, calls):
    """Give ``replacement`` the name, file and line that tracebacks show for ``original``.

    ``calls`` are the lines, counted from each function's first, on which the two make the call
    that may raise: (of the replacement, of the original).
    """
    code = original.__code__
    replacement.__code__ = replacement.__code__.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_firstlineno=code.co_firstlineno + calls[1] - calls[0],
    )
    replacement.__name__ = original.__name__
    replacement.__qualname__ = original.__qualname__
    replacement.__module__ = original.__module__
    replacement.__doc__ = original.__doc__
    return replacement


_traced = False
_originals = []


def _replace(owner, name, replacement):
    _originals.append((owner, name, getattr(owner, name)))
    setattr(owner, name, replacement)


def _look_alike(owner, name, replacement, calls):
    _replace(owner, name, _disguise(replacement, getattr(owner, name), calls))


def install(traced):
    """Begin to watch imports; ``traced`` asks for the spans inside each of them too."""
    global _traced
    _traced = traced
    _replace(bootstrap, "_ModuleLockManager", _ModuleLockManager)
    _look_alike(external.SourceLoader, "source_to_code", _source_to_code, (7, 5))
    _replace(external.SourceFileLoader, "path_stats", _path_stats)
    gc.callbacks.append(_on_gc)
    on_import("runpy", _watch_run_path)
    if traced:
        _look_alike(external.ExtensionFileLoader, "create_module", _create_module, (2, 2))
        _look_alike(external._LoaderBasics, "exec_module", _exec_module, (6, 6))
        _look_alike(external.FileLoader, "get_data", _get_data, (1, 3))
        _look_alike(bootstrap, "_find_spec", _find_spec, (2, 0))


def uninstall():
    """Put everything back: the interpreter empties our modules while it shuts down."""
    if _on_gc in gc.callbacks:
        gc.callbacks.remove(_on_gc)
    while _originals:
        setattr(*_originals.pop())


def _watch_run_path(runpy):
    """Rewrite the user's files that ``runpy.run_path`` executes (multiprocessing's children do)."""
    original = runpy._get_code_from_file

    def _get_code_from_file(*args):
        path = os.path.abspath(os.fspath(args[-1]))
        if is_user_file(path):
            code = _rewritten(path, args[-1])
            if code is not None:
                return code if len(args) == 1 else (code, args[-1])
        return original(*args)

    runpy._get_code_from_file = _get_code_from_file


def _rewritten(path, name):
    from coldsoak_agent.runner import _read_script

    source = _read_script(path)
    return None if source is None else compile_source(source, name, "__main__")
