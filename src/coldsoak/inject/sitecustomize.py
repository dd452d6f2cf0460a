"""Starts coldsoak's agent in a measured interpreter, then runs the sitecustomize that this one hides.

``site`` imports this file because its folder is in front of ``PYTHONPATH``. Without
``COLDSOAK_SPOOL`` and ``COLDSOAK_PREHEAT`` it only hands over. The program ends up with the
``sys.path`` and the ``sys.modules`` that it would have had.
"""

from time import monotonic_ns

_begin_ns = monotonic_ns()

import sys  # noqa: E402
from posix import environ as _environ  # noqa: E402


def _start(folder, begin_ns):
    """Import and start the agent, and preheat; whatever goes wrong, the program runs."""
    kept = sys.dont_write_bytecode, sys.pycache_prefix
    prefix = _environ.get(b"COLDSOAK_BYTECODE")
    sys.dont_write_bytecode = False
    sys.pycache_prefix = prefix.decode("utf-8", "surrogateescape") if prefix else None
    sys.path.insert(0, folder)
    try:
        _keep_bytecode()
        if b"COLDSOAK_PREHEAT" in _environ:
            from coldsoak_agent import preheat

            preheat.start_from_environment()
        if b"COLDSOAK_SPOOL" in _environ:
            from coldsoak_agent import core

            core.start(begin_ns)
    except Exception as error:
        _tell(error)
    finally:
        sys.path.remove(folder)
        sys.dont_write_bytecode, sys.pycache_prefix = kept


def _tell(error):
    """Say in the spool that the agent did not start, or on stderr where there is none yet."""
    core = sys.modules.get("coldsoak_agent.core")
    if core is None or core.agent.spool is None:
        sys.stderr.write(f"coldsoak: this process is not measured: {error!r}\n")
    else:
        core.agent.urgent("note", "agent_failed", f"the agent did not start: {error!r}")


def _keep_bytecode():
    """Let the next start find this file compiled even under ``PYTHONDONTWRITEBYTECODE``."""
    from posix import stat

    try:
        fresh = stat(__spec__.cached).st_mtime >= stat(__file__).st_mtime
    except OSError:
        fresh = False
    if not fresh:
        __spec__.loader.get_code(__spec__.name)


def _hand_over(folder):
    """Execute the next sitecustomize of ``sys.path``, or tell ``site`` that there is none."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    while folder in sys.path:
        sys.path.remove(folder)
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_folder = __file__.rpartition("/")[0]
_wanted = b"COLDSOAK_SPOOL" in _environ or b"COLDSOAK_PREHEAT" in _environ
if _wanted and "coldsoak_agent.core" not in sys.modules:
    _start(_folder, _begin_ns)
_hand_over(_folder)
