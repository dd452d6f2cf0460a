"""The process's life: phases of the main program, children, forks, the exit."""

import atexit
import os
import sys
from _thread import get_native_id
from _weakref import ref
from time import monotonic_ns

from coldsoak_agent import imports
from coldsoak_agent.core import agent

__all__ = ["before_run", "install", "main_end", "main_raised", "main_start", "taken"]

_ARGUMENTS = 40
_ARGUMENT = 200
_exit = os._exit


class _Main:
    """How far the main program has come."""

    taken = False
    """The runner executes the script; CPython does not."""
    before = None
    started = False
    ended = False
    raised_ns = 0
    tidy = None
    code = None
    """Weak reference to the code of a program that CPython runs itself."""


def install():
    """Watch forks, started processes and the end of this one."""
    atexit.register(_at_exit)
    os._exit = _flush_and_exit
    os.register_at_fork(after_in_parent=_forked_parent, after_in_child=_forked_child)
    sys.addaudithook(_audit)


def before_run(callback):
    """Call ``callback()`` when CPython has decided what to run."""
    _Main.before = callback


def taken():
    """Say that the runner executes the script."""
    _Main.taken = True


def main_start():
    """Record that the first line of the program is about to run."""
    if not _Main.started:
        _Main.started = True
        agent.phase("main_start")


def main_end(detail, ns=0):
    """Record the end of the program, once."""
    if _Main.started and not _Main.ended:
        _Main.ended = True
        agent.phase("main_end", detail, ns)


def main_raised(ns, tidy):
    """Keep the moment at which the program raised; what it raised is known a little later.

    ``tidy`` is called at exit, before the program's own handlers, when the exception was printed.
    """
    _Main.raised_ns = ns
    _Main.tidy = tidy


def _at_exit():
    if _Main.raised_ns:
        main_end("SystemExit", _Main.raised_ns)
    main_end("ended")  # something keeps the program's code alive
    _finish("")
    imports.uninstall()
    _handlers.clear()
    os._exit = _exit


def _finish(detail):
    agent.finish()
    agent.flush()
    agent.phase("exit", detail)


def _flush_and_exit(status):
    agent.guard(_finish, "os._exit")
    _exit(status)


_flush_and_exit.__name__ = _flush_and_exit.__qualname__ = "_exit"
_flush_and_exit.__doc__ = _exit.__doc__


# Forks


def _forked_parent():
    agent.emit("child", get_native_id(), monotonic_ns(), "fork", [])


def _forked_child():
    begin_ns = monotonic_ns()
    agent.guard(agent.after_fork, begin_ns)
    agent.guard(agent.spool.flush)


# Audit events


def _started(executable, arguments, how):
    if isinstance(arguments, (str, bytes)):
        arguments = [arguments]
    try:
        texts = [_short(item) for item in list(arguments)[:_ARGUMENTS]]
    except TypeError:
        texts = []
    agent.urgent("child", get_native_id(), monotonic_ns(), how, texts or [_short(executable)])


def _short(value):
    try:
        return os.fsdecode(value)[:_ARGUMENT]
    except TypeError:
        return repr(value)[:_ARGUMENT]


def _popen(args):
    _started(args[0], args[1], "spawn")


def _posix_spawn(args):
    if sys._getframe(2).f_code.co_name != "_posix_spawn":  # subprocess has said it already
        _popen(args)


def _exec(args):
    agent.flush()
    _started(args[0], args[1], "exec")


def _system(args):
    _started("sh", ["sh", "-c", os.fsdecode(args[0])], "spawn")


def _excepthook(args):
    if _Main.taken and not _Main.raised_ns:  # printed by something inside the program
        return
    if get_native_id() == os.getpid():
        main_end(args[1].__name__, _Main.raised_ns)
        if _Main.tidy is not None:
            atexit.register(_Main.tidy)


def _run(_args):
    """Wait for the code of a program that CPython runs without the runner's help."""
    if _Main.before is not None:
        callback, _Main.before = _Main.before, None
        callback()
    if not _Main.taken:
        _handlers["exec"] = _code


def _code(args):
    """See code being executed: the program's own when nothing, or runpy, is below it."""
    try:
        caller = sys._getframe(2).f_code
    except ValueError:
        caller = None
    if caller is None or (caller.co_name == "_run_code" and "runpy" in caller.co_filename):
        del _handlers["exec"]
        _Main.code = ref(args[0], _code_is_gone)
        main_start()


def _code_is_gone(_reference):
    main_end("ended")


_handlers = {
    "subprocess.Popen": _popen,
    "os.posix_spawn": _posix_spawn,
    "os.exec": _exec,
    "os.system": _system,
    "sys.excepthook": _excepthook,
    "cpython.run_command": _run,
    "cpython.run_stdin": _run,
    "cpython.run_file": _run,
    "cpython.run_module": _run,
}


def _audit(event, args):
    handler = _handlers.get(event)
    if handler is not None:
        try:
            handler(args)
        except Exception as error:
            agent.note("agent_failed", "%s: %r" % (event, error))
