"""The stage of preheat that replays the keys under which torch and Triton keep compiled code.

Either package reads all of its own source, Triton its library of hundreds of megabytes too, and
hashes it in each process that looks into its cache. The keys are recorded together with the files
that were opened and the folders that were listed meanwhile, as the interpreter's audit events tell
them, so whatever a version reads is known. A key is replayed only where each of these files has the
same size and time of change and each folder the same names.
"""

import functools
import os
import sys

from coldsoak_agent import preheat_memo
from coldsoak_agent.preheat import Unfit
from coldsoak_agent.preheat_imports import after_import

TORCH = "torch._inductor.codecache"
TRITON = ("triton.runtime.cache", "triton.compiler.compiler")
"""The modules that may define the keys; Triton's moved."""


def start(running, path):
    """Wait for the modules that have the keys."""
    if not os.path.isfile(path):
        raise Unfit("%s is not there" % path)
    recorded = _Recorded(running, path)
    running.note("torch_key", "running")
    after_import(running, "torch_key", TORCH, recorded.torch)
    for name in TRITON:
        after_import(running, "triton_key", name, recorded.triton)


class _Recorded(object):
    def __init__(self, running, path):
        self.running = running
        self.path = path
        self.keys = None

    def torch(self, module):
        self.replace(module, "torch_key", getattr(module, "torch_key", None), _torch)

    def triton(self, module):
        original = _triton_key(module)
        if original is not None:
            self.running.note("triton_key", "running")
            self.replace(module, "triton_key", original, _triton)

    def replace(self, module, name, original, make):
        replayed = make(original, lambda: self.answer(module, name))
        setattr(module, name, functools.update_wrapper(replayed, original))

    def answer(self, module, name):
        """Return the recorded key; None where there is none that fits."""
        try:
            key = self.fitting(module, name)
        except Unfit as reason:
            self.running.note(name, "off", str(reason))
        except Exception as error:
            self.running.note(name, "failed", repr(error))
        else:
            self.running.note(name, "done", "%s answered from the record" % name)
            return key
        return None

    def fitting(self, module, name):
        if self.keys is None:
            self.keys = preheat_memo.read(self.path)["keys"]
        entry = self.keys.get(name)
        if entry is None:
            raise Unfit("it was not recorded")
        preheat_memo.compare(entry["conditions"], conditions(module))
        preheat_memo.unchanged(entry["state"])
        return entry["key"]


def _triton_key(module):
    """Return the function where a module defines it, and does not only import it."""
    found = vars(module).get("triton_key")
    return found if getattr(found, "__module__", "") == module.__name__ else None


def _torch(original, answer):
    """Set torch's key by its own means, when it is asked for."""
    asked = []
    place = _setter(original)

    def torch_key():
        if not asked:
            asked.append(True)
            key = answer()
            if key is not None:
                try:
                    place(bytes.fromhex(key))
                except (AssertionError, RuntimeError):
                    pass  # the program has set it already
        return original()

    return torch_key


def _setter(original):
    place = getattr(original, "set", None)
    if not callable(place) or not callable(getattr(original, "clear", None)):
        raise Unfit("this torch keeps its key in a way that is not known")
    return place


def _triton(original, answer):
    plain = _plain(original)

    @functools.lru_cache()
    def triton_key():
        key = answer()
        return plain() if key is None else key

    return triton_key


def _plain(original):
    """Return Triton's function without the cache around it."""
    plain = getattr(original, "__wrapped__", None)
    if not callable(plain) or not hasattr(original, "cache_clear"):
        raise Unfit("this Triton keeps its key in a way that is not known")
    return plain


def conditions(module):
    """Return whose key it is."""
    package = sys.modules[module.__name__.partition(".")[0]]
    version = str(getattr(package, "__version__", ""))
    return {package.__name__: [version, os.path.realpath(module.__file__)]}


# In a process that is there to record


class _Watch(object):
    """Collects which files are opened and which folders are listed inside the ``with`` block."""

    def __init__(self):
        self.files, self.folders = set(), set()
        self.on = False
        sys.addaudithook(self.hear)

    def __enter__(self):
        self.on = True
        return self

    def __exit__(self, *_exception):
        self.on = False

    def hear(self, event, args):
        if self.on and args and isinstance(args[0], str):
            if event == "open" and args[2] & os.O_ACCMODE == os.O_RDONLY:
                self.files.add(os.path.abspath(args[0]))
            elif event in {"os.listdir", "os.scandir"}:
                self.folders.add(os.path.abspath(args[0]))

    def marks(self):
        files = {path for path in self.files if os.path.isfile(path)}
        files = {path for path in files if not path.startswith(("/proc/", "/dev/", "/sys/"))}
        folders = self.folders | {os.path.dirname(path) for path in files}
        return preheat_memo.marks(sorted(files), sorted(folders))


def record(path):
    """Let torch and Triton work out their keys in this process and write what they read for it."""
    from importlib import import_module, util

    keys = {}
    codecache = import_module(TORCH)
    key = getattr(codecache, "torch_key", None)
    _setter(key)
    key.clear()
    keys["torch_key"] = _entry(codecache, key)
    for name in TRITON if util.find_spec("triton") else ():
        module = import_module(name)
        key = _triton_key(module)
        if key is not None:
            keys["triton_key"] = _entry(module, _plain(key))
    preheat_memo.write(path, {"keys": keys})


def _entry(module, compute):
    with _Watch() as watch:
        key = compute()
    state = watch.marks()
    if not any(isinstance(found, list) for found in state.values()):
        raise Unfit("%s reads no file for its key" % module.__name__)
    text = key.hex() if isinstance(key, bytes) else str(key)
    return {"key": text, "conditions": conditions(module), "state": state}
