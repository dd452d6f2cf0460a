"""The agent of one process: what the sources, the rewritten code and the hooks talk to."""

import os
import sys
from _thread import RLock, get_native_id
from time import monotonic_ns

from coldsoak_agent.spool import Spool

__all__ = ["Agent", "agent", "start"]

PROTOCOL = 1


class Agent:
    """The singleton ``agent``; its methods never raise into the program.

    Attributes:
        mode: ``timed``, ``traced`` or ``synced``; empty before the start.
        sources: Names of the sources that the launch asks for.
        t0: CLOCK_MONOTONIC at the spawn of the launch, in ns; 0 when unknown.
        started: Source modules that are on, by name.
        spool: Where the records go; the methods ``emit`` and ``urgent`` are its own.

    """

    def __init__(self):
        self.mode = ""
        self.sources = frozenset()
        self.t0 = 0
        self.tf1 = False
        self.rerun = 1
        self.started = {}
        self.spool = None
        self.emit = self.urgent = _drop
        self._flushers = []
        self._flushing = RLock()
        self._told = set()
        self._at_exit = []
        self._at_fork = []

    def open(self, begin_ns, how):
        """Begin this process's file; ``how`` is as in the ``process`` record."""
        if self.spool is None:
            from coldsoak_agent.imports import quietly

            self.spool = Spool(os.environ["COLDSOAK_SPOOL"], self._book_flush, quietly)
            self.emit, self.urgent = self.spool.emit, self.spool.urgent
        self.spool.begin(begin_ns)
        self.emit(
            "process",
            PROTOCOL,
            os.getpid(),
            os.getppid(),
            get_native_id(),
            begin_ns,
            sys.version.partition(" ")[0],
            sys.executable or "",
            _command_line(),
            _cwd(),
            how,
            _start_ticks(),
            _rank(),
        )

    @staticmethod
    def now():
        """Return CLOCK_MONOTONIC in ns."""
        return monotonic_ns()

    def phase(self, name, detail="", ns=0):
        """Write a moment of the process's life at once; ``ns`` when it lies in the past."""
        self.urgent("phase", name, ns or monotonic_ns(), get_native_id(), detail)

    def cost(self, what, start_ns, end_ns):
        """Record time that the agent itself took on this thread."""
        self.emit("cost", what, get_native_id(), start_ns, end_ns)

    def source(self, name, state, reason="", cost_ns=0, lost=0):
        """Record how a source fares: ``on``, ``off`` or ``lost``."""
        self._told.add(name)
        self.emit("source", name, state, reason, cost_ns, lost)

    def note(self, code, text):
        """Record something that the user should hear about the measurement."""
        self.emit("note", code, text)

    def file(self, kind, path, info=None):
        """Name a bulk file beside the spool."""
        self.emit("file", kind, path, info or {})

    def spool_path(self, suffix):
        """Return the path of a bulk file of this process."""
        return self.spool.stem + "." + suffix

    def on_import(self, name, callback):
        """Call ``callback(module)`` once the module has been executed; at once if it already was."""
        from coldsoak_agent import imports

        imports.on_import(name, callback)

    def add_flush(self, callback):
        """Call ``callback()`` at each flush point, before the spool is written."""
        self._flushers.append(callback)

    def at_exit(self, callback):
        """Call ``callback()`` when the process ends, before the last flush; the latest first."""
        self._at_exit.append(callback)

    def at_fork(self, callback):
        """Call ``callback()`` in a forked child, after its own file was begun."""
        self._at_fork.append(callback)

    def flush(self):
        """Let the sources write what they hold, then write the spool."""
        with self._flushing:
            for callback in self._flushers:
                self.guard(callback)
            for module in list(self.started.values()):
                hook = getattr(module, "flush", None)
                if hook is not None:
                    self.guard(hook, self)
            self.spool.flush()

    def finish(self):
        """Stop the sources and run the ``at_exit`` callbacks, once."""
        self.spool.wake = None
        while self._at_exit:
            self.guard(self._at_exit.pop())
        while self.started:
            _, module = self.started.popitem()
            hook = getattr(module, "stop", None)
            if hook is not None:
                self.guard(hook, self)

    def guard(self, function, *args):
        """Call a part of the agent; its failure becomes a note."""
        try:
            return function(*args)
        except Exception as error:
            name = "%s.%s" % (function.__module__, getattr(function, "__qualname__", "?"))
            self.note("agent_failed", "%s: %r" % (name, error))
            return None

    def start_sources(self):
        """Switch on the sources of ``COLDSOAK_SOURCES`` and say for each how it fares."""
        from coldsoak_agent.imports import quietly
        from coldsoak_agent.sources import Off

        for name in self.sources:
            if name.startswith("-"):
                self.source(name[1:], "off", "switched off", 0)
                continue
            begin = monotonic_ns()
            try:
                module = quietly(_import_source, name)
                quietly(module.start, self)
            except Off as reason:
                self.source(name, "off", str(reason), monotonic_ns() - begin)
            except Exception as error:
                self.source(name, "off", "failed: %r" % (error,), monotonic_ns() - begin)
            else:
                self.started[name] = module
                if name not in self._told:
                    self.source(name, "on", "", monotonic_ns() - begin)

    def after_fork(self, begin_ns):
        """Begin anew in a forked child: its records are its own, its sources start over."""
        self._at_exit.clear()
        self._flushing = RLock()
        self.open(begin_ns, "fork")
        for callback in self._at_fork:
            self.guard(callback)
        for name, module in list(self.started.items()):
            hook = getattr(module, "after_fork", None)
            if hook is not None:
                self.guard(hook, self)
            elif not hasattr(module, "flush"):
                continue
            else:
                self.source(name, "off", "not restarted after a fork")
                del self.started[name]

    def _book_flush(self, start_ns, end_ns):
        self.cost("flush", start_ns, end_ns)


def _drop(*_record):
    """Stand in for ``emit`` before the start."""


def _import_source(name):
    if not name.isidentifier():
        raise ValueError("no source has this name")
    qualified = "coldsoak_agent.sources." + name
    __import__(qualified)
    return sys.modules[qualified]


def _read(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 20)
    finally:
        os.close(fd)


def _command_line():
    """Return the command as typed (``sys.orig_argv``, which came with Python 3.10)."""
    typed = getattr(sys, "orig_argv", None)
    if typed is None:
        try:
            typed = [os.fsdecode(item) for item in _read("/proc/self/cmdline").split(b"\0")[:-1]]
        except OSError:
            typed = [sys.executable, *getattr(sys, "argv", ())]
    return typed


def _cwd():
    try:
        return os.getcwd()
    except OSError:
        return ""


def _rank():
    """Return which of several like processes this is, as its launcher told it: torchrun, MPI."""
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        rank = os.environ.get(name, "")
        if rank.isdigit():
            return rank
    return ""


def _start_ticks():
    try:
        return int(_read("/proc/self/stat").rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


agent = Agent()


def start(begin_ns):
    """Start the agent of this process; called once, by ``sitecustomize``."""
    environ = os.environ
    agent.mode = environ.get("COLDSOAK_MODE", "timed")
    agent.t0 = _number(environ.get("COLDSOAK_T0"), 0)
    agent.rerun = max(1, _number(environ.get("COLDSOAK_RERUN"), 1))
    agent.tf1 = environ.get("COLDSOAK_TF1") == "1"
    if agent.mode == "traced":
        names = environ.get("COLDSOAK_SOURCES", "").split(",")
        agent.sources = dict.fromkeys(name.strip() for name in names if name.strip()).keys()
    from coldsoak_agent import hooks, imports, process, runner

    agent.open(begin_ns, runner.how())
    imports.install(traced=agent.mode == "traced")
    process.install()
    hooks.install(agent)
    runner.install()
    if agent.tf1:
        imports.quietly(_start_tf1)
    if agent.mode == "traced":
        agent.start_sources()
        imports.quietly(_start_flusher)
    agent.phase("agent_ready")


def _start_flusher():
    from coldsoak_agent import flusher

    flusher.install()


def _start_tf1():
    from coldsoak_agent import tf1

    tf1.install(agent)


def _number(text, default):
    try:
        return int(text)
    except (TypeError, ValueError):
        return default
