"""Which files are the user's own, and how they are compiled."""

import os
import sys
from time import monotonic_ns

from coldsoak_agent import core

__all__ = ["compile_source", "is_user_file", "may_be_rewritten"]

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/"
_LIBRARY = (
    _HERE,
    os.path.dirname(os.path.abspath(os.__file__)) + "/",
    sys.prefix + "/lib/",
    sys.base_prefix + "/lib/",
)
_EXTRA = tuple(prefix for prefix in os.environ.get("COLDSOAK_USER", "").split(os.pathsep) if prefix)
_HINTS = (b"time", b"clock", b"perf_counter", b"monotonic", b"now", b"today", b"utf-16")
"""A source without any of these reads no clock: the rewriter need not even be imported."""
_known = {}
_installed = {}
"""Names of the packages installed in a folder of ``sys.path``, by folder."""


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
    full = path if path.startswith("/") else os.path.abspath(path)
    if _EXTRA and full.startswith(_EXTRA) and not full.startswith(_HERE):
        return True
    if "/site-packages/" in full or "/dist-packages/" in full:
        return False
    return not full.startswith(_LIBRARY) and not _is_installed(full)


def _is_installed(full):
    """Tell whether ``full`` belongs to a package that ``pip install --target`` put on ``sys.path``."""
    for folder in sys.path:
        if isinstance(folder, str) and folder and full.startswith(folder + "/"):
            name = full[len(folder) + 1 :].partition("/")[0].partition(".")[0]
            if name in _packages_in(folder):
                return True
    return False


def _packages_in(folder):
    """Return the importable names that the ``.dist-info`` folders of ``folder`` tell of."""
    names = _installed.get(folder)
    if names is None:
        names = _installed[folder] = set()
        try:
            found = [entry for entry in os.listdir(folder) if entry.endswith(".dist-info")]
        except OSError:
            found = []
        for entry in found:
            names.add(entry.partition("-")[0])
            try:
                with open(folder + "/" + entry + "/top_level.txt", "rb") as file:
                    names.update(file.read().decode("utf-8", "replace").split())
            except OSError:
                pass
    return names


def may_be_rewritten(path):
    """Tell whether :func:`compile_source` may change a user's file; the others keep their bytecode."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError:
        return True
    return _wants_tf1(source) or _has_hints(source)


def _wants_tf1(source):
    return core.agent.tf1 and b"tensorflow" in source


def _has_hints(source):
    return any(hint in source for hint in _HINTS)


def compile_source(source, path, module):
    """Return the rewritten code of a user's file, or None where CPython should compile it.

    That is: where no clock can be read, where the source does not compile, so that it fails as
    ever, and where another loader has already made something else of the bytes.
    """
    if not isinstance(source, bytes):
        return None
    wants_tf1 = _wants_tf1(source)
    if not wants_tf1 and not _has_hints(source):
        return None
    start = monotonic_ns()
    try:
        from coldsoak_agent.imports import quietly

        return quietly(_rewrite_tf1 if wants_tf1 else _rewrite, source, path, module)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None
    except Exception as error:
        core.agent.note("rewrite_failed", "%s is not watched: %r" % (path, error))
        return None
    finally:
        core.agent.cost("rewrite", start, monotonic_ns())


def _rewrite(source, path, module):
    from coldsoak_agent.rewrite import compile_user

    return compile_user(source, path, module)


def _rewrite_tf1(source, path, _module):
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
