"""Notebook cells: the same rewriting, through IPython's own list of tree transformers."""

import ast

from coldsoak_agent import readings, rewrite
from coldsoak_agent.core import agent

__all__ = ["CellRewriter", "install"]


class CellRewriter(ast.NodeTransformer):
    """Rewrites each cell's tree; a cell that it cannot rewrite runs as it is."""

    def __init__(self):
        self.filename = "<cell>"
        self._cells = 0

    def visit(self, node):
        """Return the rewritten tree of one cell."""
        if not isinstance(node, ast.Module):
            return node
        self._cells += 1
        try:
            rewrite.rewrite(node, self.filename, ":%d" % self._cells)
        except Exception as error:
            agent.note("rewrite_failed", "%s: %r" % (self.filename, error))
        return node


def install(module):
    """Give every shell that is created from now on a ``CellRewriter``."""
    shell_class = module.InteractiveShell
    original = shell_class.__init__

    def __init__(self, *args, **kwargs):  # noqa: N807 - it becomes the class's own
        original(self, *args, **kwargs)
        agent.guard(attach, self)

    __init__.__doc__ = original.__doc__
    shell_class.__init__ = __init__


def attach(shell):
    """Rewrite the cells of a shell, under the file names that it gives them."""
    readings.install()
    rewriter = CellRewriter()
    original = shell.compile.cache

    def cache(*args, **kwargs):
        rewriter.filename = original(*args, **kwargs)
        return rewriter.filename

    shell.compile.cache = cache
    shell.ast_transformers.append(rewriter)
    return rewriter
