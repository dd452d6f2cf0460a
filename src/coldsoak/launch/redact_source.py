"""Hides the secrets in Python source: the same lines, with other text between some quotes."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING, Any

from coldsoak.launch.redact import REDACTED, is_secret, redact_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

__all__ = ["redact_source"]

_NAMING = re.compile(r"-{0,2}[A-Za-z_][\w.-]{0,60}")
"""A string that can name an option, a variable or a field."""


def redact_source(text: str) -> str | None:
    """Return ``text`` with every string literal hidden that may be a secret, and no line moved.

    Hidden is what is given to a name, an attribute, a key, a parameter or an argument with the name
    of a secret, what stands in such a function, or beside such a name in a call
    (``environ.setdefault("API_KEY", "…")``) or a comparison, and what has the form of a secret.
    Comments are treated as free text. None for text that this Python cannot parse: nobody could
    tell what is in it.
    """
    try:
        tree = ast.parse(text)
        comments = list(_comments(text))
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        return None
    data = text.encode()
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    changes = [
        (
            place(node.lineno, node.col_offset),
            place(node.end_lineno or node.lineno, node.end_col_offset or 0),
            _quoted(node),
        )
        for node in _Finder().literals(tree)
    ]
    lines = text.split("\n")
    for line, column, comment in comments:
        hidden = redact_text(comment)
        if hidden != comment:
            begin = place(line, len(lines[line - 1][:column].encode()))
            changes.append((begin, begin + len(comment.encode()), hidden))
    return _changed(data, sorted(changes)).decode()


def _changed(data: bytes, changes: Iterable[tuple[int, int, str]]) -> bytes:
    """Put the new texts in, given in order; a change inside of another one has been made with it."""
    pieces, done = [], 0
    for begin, end, new in changes:
        if begin >= done:
            pieces += [data[done:begin], new.encode()]
            done = end
    return b"".join([*pieces, data[done:]])


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column in characters and text of each comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string


def _quoted(node: ast.expr) -> str:
    """Return what stands in for a literal: of the same type and with as many lines."""
    prefix = "b" if isinstance(node, ast.Constant) and isinstance(node.value, bytes) else ""
    lines = (node.end_lineno or node.lineno) - node.lineno
    return f'{prefix}"""{REDACTED}{chr(10) * lines}"""' if lines else f'{prefix}"{REDACTED}"'


class _Finder:
    """Walks through a tree and remembers whether what it is in has the name of a secret."""

    def __init__(self) -> None:
        self._found: list[ast.expr] = []

    def literals(self, tree: ast.AST) -> list[ast.expr]:
        """Return the string literals that must not be shown; none lies in another one."""
        self._walk(tree, hide=False)
        return self._found

    def _walk(self, node: ast.AST, *, hide: bool) -> None:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, (str, bytes)) and (hide or _tells(node.value)):
                self._found.append(node)
        elif isinstance(node, ast.JoinedStr):
            self._joined(node, hide=hide)
        else:
            for child, secret in _parts(node):
                self._walk(child, hide=hide or secret)

    def _joined(self, node: ast.JoinedStr, *, hide: bool) -> None:
        fixed = [part.value for part in node.values if isinstance(part, ast.Constant)]
        if hide or _tells("\0".join(map(str, fixed))):
            self._found.append(node)
            return
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self._walk(part.value, hide=False)


def _tells(value: str | bytes) -> bool:
    """Whether a literal shows by itself that it is, or has in it, a secret."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return redact_text(text) != text


_Parts: TypeAlias = "Iterator[tuple[ast.AST, bool]]"
"""Children of a node, each with whether it belongs to the name of a secret."""


def _parts(node: ast.AST) -> _Parts:
    rule = _RULES.get(type(node))
    if rule is None:
        return ((child, False) for child in ast.iter_child_nodes(node))
    return rule(node)


def _assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> _Parts:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    yield from ((target, False) for target in targets)
    if node.value is not None:
        yield node.value, any(map(_secret_target, targets))


def _entries(node: ast.Dict) -> _Parts:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:
            yield key, False
        yield value, key is not None and _names_secret(key)


def _keyword(node: ast.keyword) -> _Parts:
    yield node.value, is_secret(node.arg or "")


def _compared(node: ast.Compare) -> _Parts:
    operands = [node.left, *node.comparators]
    secret = any(map(_secret_target, operands))
    yield from ((operand, secret) for operand in operands)


def _call(node: ast.Call) -> _Parts:
    named = [argument for argument in node.args if _names_secret(argument)]
    yield node.func, False
    for argument in node.args:
        yield argument, bool(named) and argument is not named[0]
    for keyword in node.keywords:
        yield keyword, bool(named)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> _Parts:
    secret = is_secret(node.name)
    yield from ((child, secret) for child in ast.iter_child_nodes(node))


def _defaults(node: ast.arguments) -> _Parts:
    plain = [*node.posonlyargs, *node.args]
    with_default = plain[len(plain) - len(node.defaults) :]
    pairs: Iterable[tuple[ast.arg, ast.expr | None]] = (
        *zip(with_default, node.defaults, strict=True),
        *zip(node.kwonlyargs, node.kw_defaults, strict=True),
    )
    for argument, default in pairs:
        if default is not None:
            yield default, is_secret(argument.arg)


_RULES: dict[type[ast.AST], Callable[[Any], _Parts]] = {
    ast.Assign: _assigned,
    ast.AnnAssign: _assigned,
    ast.AugAssign: _assigned,
    ast.NamedExpr: _assigned,
    ast.Dict: _entries,
    ast.keyword: _keyword,
    ast.Call: _call,
    ast.Compare: _compared,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.arguments: _defaults,
}


def _secret_target(node: ast.expr) -> bool:
    """Whether an expression has the name of a secret: ``token``, ``self.key``, ``d["password"]``."""
    if isinstance(node, ast.Name):
        return is_secret(node.id)
    if isinstance(node, ast.Attribute):
        return is_secret(node.attr)
    if isinstance(node, ast.Subscript):
        return _names_secret(node.slice) or _secret_target(node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(map(_secret_target, node.elts))
    return False


def _names_secret(node: ast.expr) -> bool:
    """Whether a literal is the name of a secret: ``"HF_TOKEN"``, ``"--password"``."""
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _NAMING.fullmatch(node.value) is not None
        and is_secret(node.value)
    )
