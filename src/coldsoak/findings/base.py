"""What a finding's module looks like."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Finding, Severity

__all__ = ["Rule", "title_of", "words_of"]


class Rule(Protocol):
    """A module with one finding; its docstring is what ``coldsoak explain CODE`` prints.

    The first line of the docstring is the title, of the page and of each finding that names no
    other; paragraphs follow. The last ones say what is needed for it to fire and what to do about
    it.
    """

    __doc__: str | None
    CODE: str
    """Lower case, words joined by dashes."""
    SEVERITY: Severity

    def find(self, view: View) -> Iterable[Finding]:
        """Return the findings in a result; reads nothing but the view."""


def title_of(rule: Rule) -> str:
    """Return the first line of a rule's text."""
    return inspect.cleandoc(rule.__doc__ or rule.CODE).partition("\n")[0].rstrip(".")


def words_of(rule: Rule) -> str:
    """Return a rule's text after the title."""
    return inspect.cleandoc(rule.__doc__ or "").partition("\n")[2].strip()
