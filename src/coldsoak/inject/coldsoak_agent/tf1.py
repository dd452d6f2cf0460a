"""Runs a script written for TensorFlow 1 on TensorFlow 2.

The user's own ``import tensorflow as tf`` is read as ``import tensorflow.compat.v1 as tf``; the
libraries keep what they expect. When TensorFlow has been imported its TensorFlow 1 defaults are
set: graph mode until the script enables eager execution.
"""

import _ast

__all__ = ["install", "redirect"]

_VERSION_1 = "tensorflow.compat.v1"
_UNCHANGED = ("keras",)
"""Names that ``tensorflow.compat.v1`` offers in a form that needs another package."""


def install(agent):
    """Set TensorFlow 1's defaults as soon as TensorFlow is there."""
    agent.on_import("tensorflow", _set_defaults)


def _set_defaults(tensorflow):
    v1 = tensorflow.compat.v1
    verbosity = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)  # the toggle warns of its own age
    try:
        v1.disable_v2_behavior()
    finally:
        v1.logging.set_verbosity(verbosity)


def redirect(tree):
    """Make the imports of ``tensorflow`` in an ``_ast.Module`` give the TensorFlow 1 names."""
    pending = [tree]
    while pending:
        node = pending.pop()
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                if value and isinstance(value[0], _ast.stmt):
                    setattr(node, field, _redirect_statements(value))
                pending.extend(item for item in value if isinstance(item, _ast.AST))
            elif isinstance(value, _ast.AST):
                pending.append(value)


def _redirect_statements(body):
    out = []
    for statement in body:
        if isinstance(statement, _ast.Import):
            for alias in statement.names:
                if alias.name == "tensorflow":
                    alias.name, alias.asname = _VERSION_1, alias.asname or "tensorflow"
        elif isinstance(statement, _ast.ImportFrom) and statement.module == "tensorflow":
            out.extend(_split(statement))
            continue
        out.append(statement)
    return out


def _split(statement):
    """Return the statement as two: names of TensorFlow 1, and names that stay as they are."""
    kept = [alias for alias in statement.names if alias.name in _UNCHANGED]
    moved = [alias for alias in statement.names if alias.name not in _UNCHANGED]
    if not moved or statement.level:
        return [statement]
    statement.module, statement.names = _VERSION_1, moved
    if not kept:
        return [statement]
    place = {
        name: getattr(statement, name)
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
    }
    return [statement, _ast.ImportFrom(module="tensorflow", names=kept, level=0, **place)]
