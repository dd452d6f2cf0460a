"""Matrix products that a region does, read from the user's source without executing it.

Nothing is guessed: a loop whose length is not written down, a product under a condition, or an
operand whose size is not a literal makes the whole region unknown.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coldsoak.findings.source import Source, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coldsoak.model.result import Series

__all__ = ["Product", "products_of", "statements_of"]

_PRODUCTS = {"matmul", "mm", "dot"}
_COMPILERS = re.compile(r"\b(jit|njit|compile|function)\b")
_PASS_ON = {
    *("astype", "to", "cuda", "cpu", "float", "half", "copy", "clone", "contiguous", "numpy"),
    *("asarray", "array", "from_numpy", "constant", "device_put", "convert_to_tensor", "Variable"),
    *("transpose", "requires_grad_", "block_until_ready", "as_tensor", "tensor", "get"),
}
"""Calls whose result is as large as the object or the first argument; of squares, transposing too."""
_MAKE = {
    *("uniform", "random_uniform", "rand", "randn", "ones", "zeros", "normal", "random"),
    *("standard_normal", "random_normal", "full", "empty", "eye", "identity"),
}
_DEPTH = 8
"""Calls and names that are followed."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Product:
    """``count`` products of an m×k and a k×n matrix, found on one line."""

    count: int
    m: int
    k: int
    n: int
    line: int

    @property
    def flops(self) -> float:
        """Multiplications and additions."""
        return 2.0 * self.count * self.m * self.k * self.n


class _UnknownError(Exception):
    """The source does not say it."""


def products_of(source: Source, series: Series) -> list[Product]:
    """Return the products between the two clock readings of ``series``; empty when not all are known."""
    statements, scope = statements_of(source, series)
    reader = _Reader(source, dict(series.case))
    try:
        return [
            product for statement in statements for product in reader.visit(statement, 1, scope, 0)
        ]
    except _UnknownError:
        return []


def statements_of(source: Source, series: Series) -> tuple[list[ast.stmt], Function | None]:
    """Return the statements from the first to the second clock reading, and their function."""
    if series.start is None or series.end is None or series.start.file != series.end.file:
        return [], None
    first, last = series.start.line, series.end.line
    for node in source.walk():
        for body in _bodies(node):
            lines = [(s.lineno, s.end_lineno or s.lineno) for s in body]
            if any(a <= first <= b for a, b in lines) and any(a <= last <= b for a, b in lines):
                inside = [
                    s for s, (a, b) in zip(body, lines, strict=True) if b >= first and a <= last
                ]
                if len(inside) > 1 or not _bodies_around(inside, first, last):
                    return _inside(inside, series), source.function_at(first)
    return [], None


def _inside(statements: Sequence[ast.stmt], series: Series) -> list[ast.stmt]:
    """Return the statements from the first to the last line, blocks opened where they reach out."""
    first = series.start.line if series.start else 0
    last = series.end.line if series.end else 0
    found: list[ast.stmt] = []
    for statement in statements:
        begin, end = statement.lineno, statement.end_lineno or statement.lineno
        if begin >= first and end <= last:
            found.append(statement)
        elif end >= first and begin <= last:
            found += [s for body in _bodies(statement) for s in _inside(body, series)]
    return found


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and body:
            yield body


def _bodies_around(inside: Sequence[ast.stmt], first: int, last: int) -> bool:
    """Tell whether the one statement has a body of its own with both lines in it."""
    return any(
        body[0].lineno <= first and (body[-1].end_lineno or 0) >= last
        for statement in inside
        for node in ast.walk(statement)
        for body in _bodies(node)
    )


class _Reader:
    def __init__(self, source: Source, case: dict[str, str]) -> None:
        self._source = source
        self._case = case
        self._functions = {n.name: n for n in source.walk() if isinstance(n, Function)}

    def visit(
        self, node: ast.AST, times: int, scope: Function | None, depth: int
    ) -> Iterator[Product]:
        if isinstance(node, Function | ast.ClassDef | ast.Lambda):
            return
        inner = times * self._repeats(node, scope)
        product = self._operands(node)
        if product is not None:
            if not times:
                raise _UnknownError
            yield self._product(*product, times, scope, node)
        if isinstance(node, ast.Call):
            called = self._functions.get(name_of(node.func))
            if called is not None and depth < _DEPTH and called is not scope:
                yield from self._followed(called, inner, depth)
        for child in ast.iter_child_nodes(node):
            yield from self.visit(child, inner, scope, depth)

    def _repeats(self, node: ast.AST, scope: Function | None) -> int:
        """Return how often the inside of a node runs; 0 when the source does not say it."""
        if isinstance(node, ast.For):
            return self._length(node.iter, scope) or 0
        if isinstance(node, ast.ListComp) and len(node.generators) == 1:
            generator = node.generators[0]
            return 0 if generator.ifs else self._length(generator.iter, scope) or 0
        branches = ast.While | ast.If | ast.IfExp | ast.Try | ast.SetComp | ast.GeneratorExp
        return 0 if isinstance(node, branches | ast.DictComp) else 1

    def _followed(self, called: Function, times: int, depth: int) -> Iterator[Product]:
        """Yield the products of a called function; of a compiled one only when there is just one.

        A compiler takes equal products together, so that more than one need not be done.
        """
        found = [p for node in called.body for p in self.visit(node, 1, called, depth + 1)]
        compiled = any(_COMPILERS.search(ast.unparse(each)) for each in called.decorator_list)
        if found and (not times or (compiled and sum(p.count for p in found) != 1)):
            raise _UnknownError
        yield from (replace(product, count=product.count * times) for product in found)

    def _operands(self, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return node.left, node.right
        if not isinstance(node, ast.Call):
            return None
        dotted = name_of(node.func)
        if dotted.rpartition(".")[2] not in _PRODUCTS or dotted in self._functions:
            return None
        if len(node.args) >= 2:
            return node.args[0], node.args[1]
        if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
            return node.func.value, node.args[0]
        return None

    def _product(
        self, left: ast.expr, right: ast.expr, times: int, scope: Function | None, node: ast.AST
    ) -> Product:
        a, b = self._shape(left, scope, 0), self._shape(right, scope, 0)
        if a is None or b is None or a[1] != b[0]:
            raise _UnknownError
        return Product(times, a[0], a[1], b[1], getattr(node, "lineno", 0))

    def _length(self, node: ast.expr, scope: Function | None) -> int | None:
        """Return the length of ``range(n)`` or ``range(a, b)``."""
        if not isinstance(node, ast.Call) or name_of(node.func) != "range" or node.keywords:
            return None
        ends = [self._integer(argument, scope, 0) for argument in node.args]
        if len(ends) == 1:
            return ends[0]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
            return max(ends[1] - ends[0], 0)
        return None

    def _shape(self, node: ast.expr, scope: Function | None, depth: int) -> tuple[int, int] | None:
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Name):
            values = self._values(node.id, scope)
            found = {self._shape(value, where, depth + 1) for value, where in values}
            return found.pop() if len(found) == 1 else None
        if isinstance(node, ast.Attribute) and node.attr == "T":
            return self._turned(self._shape(node.value, scope, depth + 1))
        if isinstance(node, ast.Call):
            return self._made(node, scope, depth)
        return None

    @staticmethod
    def _turned(shape: tuple[int, int] | None) -> tuple[int, int] | None:
        return shape and (shape[1], shape[0])

    def _made(self, node: ast.Call, scope: Function | None, depth: int) -> tuple[int, int] | None:
        last = name_of(node.func).rpartition(".")[2]
        if last in _MAKE:
            return self._literal_shape(node, scope)
        if last in _PASS_ON:
            inner = node.args[0] if node.args and not self._is_method(node) else None
            if inner is None and isinstance(node.func, ast.Attribute):
                inner = node.func.value
            shape = self._shape(inner, scope, depth + 1) if inner is not None else None
            return self._turned(shape) if last == "transpose" else shape
        return None

    def _is_method(self, node: ast.Call) -> bool:
        """Tell ``x.to(device)`` from ``np.asarray(x)``: what stands in front is no module."""
        if not isinstance(node.func, ast.Attribute):
            return False
        front = node.func.value
        return not (isinstance(front, ast.Name) and front.id in self._modules())

    def _modules(self) -> set[str]:
        return {
            (alias.asname or alias.name).partition(".")[0]
            for node in self._source.walk()
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }

    def _literal_shape(self, node: ast.Call, scope: Function | None) -> tuple[int, int] | None:
        keyword = [k.value for k in node.keywords if k.arg in {"shape", "size"}]
        for argument in (*keyword, *node.args):
            pair = self._pair(argument, scope)
            if pair is not None:
                return pair
        ends = [self._integer(argument, scope, 0) for argument in node.args[:2]]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
            return ends[0], ends[1]
        return None

    def _pair(self, node: ast.expr, scope: Function | None) -> tuple[int, int] | None:
        if isinstance(node, ast.Name):
            value = self._case_value(node.id)
            if isinstance(value, tuple) and len(value) == 2:
                return int(value[0]), int(value[1])
            values = self._values(node.id, scope)
            pairs = {self._pair(v, w) for v, w in values if isinstance(v, ast.Tuple | ast.List)}
            return pairs.pop() if len(pairs) == 1 == len(values) else None
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 2:
            m, n = (self._integer(element, scope, 0) for element in node.elts)
            return (m, n) if m is not None and n is not None else None
        return None

    def _integer(self, node: ast.expr, scope: Function | None, depth: int) -> int | None:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and depth <= _DEPTH:
            value = self._case_value(node.id)
            if isinstance(value, int):
                return value
            values = self._values(node.id, scope)
            found = {self._integer(value, where, depth + 1) for value, where in values}
            return found.pop() if len(found) == 1 else None
        return None

    def _case_value(self, name: str) -> object:
        try:
            return ast.literal_eval(self._case[name]) if name in self._case else None
        except (ValueError, SyntaxError):
            return None

    def _values(self, name: str, scope: Function | None) -> list[tuple[ast.expr, Function | None]]:
        """Return what a name may stand for: assigned in its scope, passed by callers, or global."""
        own = self._assigned(name, scope)
        if own:
            return own
        if scope is not None:
            names = [argument.arg for argument in scope.args.args]
            if name in names:
                return list(self._passed(scope, names.index(name), name))
            return self._assigned(name, None)
        return []

    def _assigned(
        self, name: str, scope: Function | None
    ) -> list[tuple[ast.expr, Function | None]]:
        root: ast.AST = scope or self._source.tree
        inner = {
            id(child)
            for node in ast.walk(root)
            if isinstance(node, Function) and node is not root
            for child in ast.walk(node)
        }
        return [
            (node.value, scope)
            for node in ast.walk(root)
            if isinstance(node, ast.Assign) and id(node) not in inner
            for target in node.targets
            if isinstance(target, ast.Name) and target.id == name
        ]

    def _passed(
        self, function: Function, place: int, name: str
    ) -> Iterator[tuple[ast.expr, Function | None]]:
        for called, node in self._source.calls():
            if called != function.name:
                continue
            keyword = [k.value for k in node.keywords if k.arg == name]
            if keyword or place < len(node.args):
                value = keyword[0] if keyword else node.args[place]
                yield value, self._source.function_at(node.lineno)
