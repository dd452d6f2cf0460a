"""Findings on a terminal and in Markdown: the most important in full, the rest counted."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.text import Text

from coldsoak.findings.base import title_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from coldsoak.findings.base import Rule
    from coldsoak.model.finding import Finding
    from coldsoak.model.result import Result

__all__ = ["MOST", "finding_blocks", "print_findings", "print_rule"]

MOST = 6
"""Findings that a terminal shows; the rest are counted."""

MOST_EVIDENCE = 3

_STYLES = {"mistake": "red", "warning": "yellow", "cause": "magenta", "note": "blue"}
_INDENT = 2


def print_findings(result: Result, console: Console, reference: str = "last") -> None:
    """Print the findings of ``result``, most important first; nothing when there are none.

    Args:
        result: With the findings.
        console: Where to.
        reference: By which a command line can name the result.

    """
    if not result.findings:
        return
    console.print()
    console.print(Text("Findings", style="bold"))
    for finding in result.findings[:MOST]:
        _print(finding, console)
    more = result.findings[MOST:]
    if more:
        codes = ", ".join(dict.fromkeys(finding.code for finding in more))
        text = f"{len(more)} more ({codes}): coldsoak report {reference} --markdown"
        _lines(Text(text, style="dim"), console, _INDENT)


def _print(finding: Finding, console: Console) -> None:
    head = Text.assemble(
        (finding.severity, _STYLES[finding.severity]),
        (f" {finding.code}", "bold"),
        (" · ".join(["", *_head(finding)]), "dim"),
    )
    _lines(head, console, _INDENT)
    _lines(Text(finding.text or finding.title), console, 2 * _INDENT)
    for text in finding.evidence[:MOST_EVIDENCE]:
        _lines(Text(text), console, 2 * _INDENT, bullet="– ")
    for line in finding.advice:
        _lines(Text(line, style="cyan"), console, 3 * _INDENT)
    if finding.settle:
        _lines(Text(finding.settle, style="dim"), console, 2 * _INDENT)


def _head(finding: Finding) -> Iterator[str]:
    if finding.file:
        yield f"{PurePath(finding.file).name}:{finding.line}"
    yield finding.confidence


def _lines(text: Text, console: Console, indent: int, bullet: str = "") -> None:
    from coldsoak.report.console import print_lines

    print_lines(text, console, indent=indent, bullet=bullet)


def finding_blocks(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield all findings as Markdown, with everything that they say."""
    for finding in findings:
        place = f" ({finding.file}:{finding.line})" if finding.file else ""
        lines = [
            f"**{finding.severity}: {finding.title}**{place} `{finding.code}`, {finding.confidence}.",
            "",
            finding.text,
            *(f"- {line}" for line in finding.evidence),
        ]
        if finding.advice:
            lines += ["", "```", *finding.advice, "```"]
        if finding.settle:
            lines += ["", finding.settle]
        yield "\n".join(lines)


def print_rule(rule: Rule, console: Console, width: int) -> None:
    """Print the page of one finding."""
    from coldsoak.report.console import print_lines

    title = Text(f"{rule.CODE}: {title_of(rule)}", style="bold")
    print_lines(title, console, width=width)
    for paragraph in words_of(rule).split("\n\n"):
        console.print()
        print_lines(Text(" ".join(paragraph.split())), console, width=width)
