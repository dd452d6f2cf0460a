"""The stage of preheat that replays which vector instructions Inductor may use.

Before torch.compile writes code for the processor it builds a small program for each set of vector
instructions and starts a Python process to see whether that loads: up to torch 2.13 in each process,
2.14 writes a file that keeps the answer. The answers depend on the processor, the compiler and torch.
They are recorded with all of these (:func:`record`, in a process of its own), and replayed only
where these are the same. A trial that failed is not recorded: it is made again.
"""

import functools
import os
import sys

from coldsoak_agent import preheat_memo
from coldsoak_agent.preheat import Unfit
from coldsoak_agent.preheat_imports import after_import

STAGE = "isa"
MODULE = "torch._inductor.cpu_vec_isa"
VARIABLES = (
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LIBRARY_PATH",
)
"""What a compiler and the loader read from the environment."""


def start(running, path):
    """Wait for the module that makes the trials."""
    if not os.path.isfile(path):
        raise Unfit("%s is not there" % path)
    running.note(STAGE, "running")
    after_import(running, STAGE, MODULE, _Replay(running, path).begin)


class _Replay(object):
    def __init__(self, running, path):
        self.running = running
        self.path = path
        self.answers = None
        self.given = self.made = 0

    def begin(self, module):
        original = _trial(module)

        @functools.wraps(original)
        def check_build(isa, code):
            return True if self.succeeds(module, isa, code) else original(isa, code)

        module.VecISA.check_build = check_build

    def succeeds(self, module, isa, code):
        """Tell whether a trial is known to succeed here."""
        if self.answers is None:
            self.answers = self.read(module)
        if not self.answers:
            return False
        known = _key(isa, code) in self.answers
        self.given += known
        self.made += not known
        text = "%d trials answered from the record" % self.given
        self.running.note(STAGE, "done", text + (", %d made" % self.made if self.made else ""))
        return known

    def read(self, module):
        """Return the keys of the trials that succeeded; none where the record does not fit."""
        try:
            record = preheat_memo.read(self.path)
            preheat_memo.compare(record["conditions"], conditions(module))
            return frozenset(record["answers"])
        except Unfit as reason:
            self.running.note(STAGE, "off", str(reason))
        except Exception as error:
            self.running.note(STAGE, "failed", repr(error))
        return frozenset()


def _trial(module):
    """Return the function that makes a trial; raises ``Unfit`` where torch has another one."""
    kind = getattr(module, "VecISA", None)
    found = getattr(kind, "check_build", None)
    code = getattr(found, "__code__", None)
    if code is None or code.co_varnames[: code.co_argcount] != ("self", "code"):
        raise Unfit("torch %s makes its trials in a way that is not known" % _version())
    return found


def _version():
    return str(getattr(sys.modules.get("torch"), "__version__", ""))


def _key(isa, code):
    """Return what tells one trial from another, as torch does: flags, macros and code."""
    import hashlib

    words = (type(isa).__name__, isa.build_arch_flags(), isa._arch_flags, *isa._macro, code)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def conditions(module):
    """Return what the answers depend on, by the name that a message gives it."""
    from torch._inductor import cpp_builder  # as the trial itself does at its begin

    compiler = cpp_builder.get_cpp_compiler()
    torch = sys.modules["torch"]
    library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    return {
        "processor": preheat_memo.processor(),
        "torch": [
            _version(),
            str(torch.version.git_version),
            preheat_memo.mark(library),
            preheat_memo.mark(module.__file__),
        ],
        "compiler": [cpp_builder.get_compiler_version_info(compiler), _program(compiler)],
        "interpreter": [sys.version, os.path.realpath(sys.executable)],
        "C library": os.confstr("CS_GNU_LIBC_VERSION"),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def _program(name):
    import shutil

    path = shutil.which(name)
    return preheat_memo.mark(path) if path else []


def record(path):
    """Make all trials in this process, which is there for that, and write those that succeed."""
    import importlib

    module = importlib.import_module(MODULE)
    original = _trial(module)
    answers = []

    def check_build(isa, code):
        key = _key(isa, code)
        succeeds = original(isa, code)
        if succeeds is True:
            answers.append(key)
        return succeeds

    module.VecISA.check_build = check_build
    module.valid_vec_isa_list()
    if not answers:
        raise Unfit("no trial of vector instructions succeeds here")
    preheat_memo.write(path, {"conditions": conditions(module), "answers": answers})
