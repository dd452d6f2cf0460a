"""The page of a cause or a finding on a terminal, and the list of them all."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from rich.text import Text

from coldsoak.errors import UsageError
from coldsoak.findings import rules
from coldsoak.findings.base import title_of
from coldsoak.ledger.taxonomy import PAGES
from coldsoak.model.causes import GROUPS, Cause
from coldsoak.report.console import print_lines, print_sheet
from coldsoak.report.findings import print_rule
from coldsoak.report.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from coldsoak.findings.base import Rule

__all__ = ["page_named", "print_codes", "print_page"]

WIDEST = 100
"""Columns beyond which prose is hard to read."""


def page_named(code: str) -> Cause | Rule:
    """Return the cause or the finding called ``code``; dashes and capitals are forgiven.

    Raises:
        UsageError: There is none; suggests the nearest.

    """
    wanted = code.strip().lower().replace("-", "_")
    known: dict[str, Cause | Rule] = {str(cause): cause for cause in Cause}
    known |= {name.replace("-", "_"): rule for name, rule in rules().items()}
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.5)
    near = [_code(known[name]) for name in near]
    raise UsageError(
        f"There is no cause or finding {code}.",
        why=f"Did you mean {near[0]}?" if near else "",
        do=f"coldsoak explain {near[0]}" if near else "coldsoak explain",
    )


def _code(subject: Cause | Rule) -> str:
    return str(subject) if isinstance(subject, Cause) else subject.CODE


def print_codes(console: Console) -> None:
    """List every cause and every finding with its title, by group."""
    for number, (group, causes) in enumerate(GROUPS.items()):
        rows = tuple((str(cause), PAGES[cause].title) for cause in causes)
        sheet = Sheet(group.capitalize(), (Column(""), Column("")), rows)
        print_sheet(sheet, console, first=number == 0)
    found = tuple((code, title_of(rule)) for code, rule in rules().items())
    print_sheet(Sheet("Findings", (Column(""), Column("")), found), console)
    console.print()
    console.print(Text("Next: coldsoak explain CODE", style="dim"))


def print_page(subject: Cause | Rule, console: Console) -> None:
    """Print what a cause or a finding is, what counts as evidence, and what helps."""
    if not isinstance(subject, Cause):
        print_rule(subject, console, min(console.width, WIDEST))
        return
    cause, page = subject, PAGES[subject]
    _prose(Text(f"{cause}: {page.title}", style="bold"), console)
    console.print()
    _prose(Text(page.what), console)
    _section("Grows with", [page.scales], console)
    _section("Counted when", [page.evidence], console)
    _section("What helps", [_remedy(code, advice) for code, advice in page.remedies], console)
    _section("Beware", [page.traps], console)
    console.print()
    _prose(Text("Only `coldsoak fix` can tell what helps here: it measures.", style="dim"), console)


def _section(heading: str, texts: Sequence[str], console: Console) -> None:
    if not any(texts):
        return
    console.print()
    console.print(Text(heading, style="bold"))
    bullet = "– " if len(texts) > 1 else ""
    for text in texts:
        _prose(Text(text[:1].upper() + text[1:]), console, indent=2, bullet=bullet)


def _remedy(code: str, advice: str) -> str:
    return advice.rstrip(".") + (f" ({code})" if code else "")


def _prose(text: Text, console: Console, indent: int = 0, bullet: str = "") -> None:
    width = min(console.width, WIDEST)
    print_lines(text, console, indent=indent, width=width, bullet=bullet)
