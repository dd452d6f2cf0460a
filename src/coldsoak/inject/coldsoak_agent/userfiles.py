"""Which files are the user's own, and how they are compiled."""

import os
import sys
from time import monotonic_ns

from coldsoak_agent import core

__all__ = ["compile_source", "is_user_file"]

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/"
_LIBRARY = (
    _HERE,
    os.path.dirname(os.path.abspath(os.__file__)) + "/",
    sys.prefix + "/lib/",
    sys.base_prefix + "/lib/",
)
_INSTALLED = ("/site-packages/", "/dist-packages/")
_EXTRA = tuple(
    prefix for prefix in os.environ.get("COLDSOAK_USER", "").split(os.pathsep) if prefix
)
_known = {}


def is_user_file(path):
    """Tell whether ``path`` is the user's: not the standard library, not an installed package.

    ``COLDSOAK_USER`` names prefixes (``os.pathsep`` between them) that are the user's all the same.
    """
    answer = _known.get(path)
    if answer is None:
        answer = _known[path] = _is_user_file(path)
    return answer


def _is_user_file(path):
    if not isinstance(path, str) or path.startswith("<"):
        return False
    full = os.path.abspath(path)
    if full.startswith(_HERE):
        return False
    if _EXTRA and full.startswith(_EXTRA):
        return True
    return not full.startswith(_LIBRARY) and not any(part in full for part in _INSTALLED)


def compile_source(source, path, module):
    """Return the rewritten code of a user's file, or None where only CPython should judge it.

    None also stands for source that does not compile: the caller lets CPython fail as ever.
    """
    start = monotonic_ns()
    try:
        from coldsoak_agent.imports import quietly

        return quietly(_rewrite, source, path, module)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None
    except Exception as error:
        core.agent.note("rewrite_failed", "%s is not watched: %r" % (path, error))
        return None
    finally:
        core.agent.cost("rewrite", start, monotonic_ns())


def _rewrite(source, path, module):
    from coldsoak_agent import rewrite

    if core.agent.tf1 and b"tensorflow" in bytes(source):
        return _rewrite_tf1(source, path)
    return rewrite.compile_user(source, path, module)


def _rewrite_tf1(source, path):
    """Redirect the imports of TensorFlow, which the program needs even where readings cannot go."""
    from coldsoak_agent import readings, rewrite, tf1

    tree = rewrite.parse(source, path)
    tf1.redirect(tree)
    try:
        rewrite.rewrite(tree, path)
        readings.install()
    except Exception as error:
        core.agent.note("rewrite_failed", "%s: its clocks are not seen: %r" % (path, error))
        tree = rewrite.parse(source, path)
        tf1.redirect(tree)
    return compile(tree, path, "exec", dont_inherit=True)
