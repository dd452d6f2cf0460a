"""A file of the user's, as rules read it: lines and a syntax tree, never executed."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Source", "name_of"]


def name_of(node: ast.AST) -> str:
    """Return a dotted name, ``tf.random.uniform``; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = name_of(node.value)
        return f"{value}.{node.attr}" if value else node.attr
    return ""


class Source:
    """The text of one file."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.lines = text.splitlines()

    def line(self, number: int) -> str:
        """Return a line by its number from 1, stripped; empty beyond the end."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""

    def indent(self, number: int) -> str:
        """Return the white space in front of a line."""
        if not 0 < number <= len(self.lines):
            return ""
        line = self.lines[number - 1]
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; empty for a file that does not parse."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])

    def walk(self) -> Iterator[ast.AST]:
        """Yield every node."""
        return ast.walk(self.tree)

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield every call with the dotted name of what it calls."""
        for node in self.walk():
            if isinstance(node, ast.Call):
                yield name_of(node.func), node

    def strings(self) -> Iterator[tuple[str, int]]:
        """Yield every string literal with its line, docstrings left out."""
        prose = {
            id(node.value)
            for node in self.walk()
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in self.walk():
            if not isinstance(node, ast.Constant) or id(node) in prose:
                continue
            if isinstance(node.value, str):
                yield node.value, node.lineno

    def function_at(self, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the innermost function around a line."""
        found = [
            node
            for node in self.walk()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(found, key=lambda node: node.lineno, default=None)

    def between(self, first: int, last: int) -> Iterator[ast.AST]:
        """Yield the nodes that begin on lines ``first`` to ``last``."""
        for node in self.walk():
            if first <= getattr(node, "lineno", 0) <= last:
                yield node
