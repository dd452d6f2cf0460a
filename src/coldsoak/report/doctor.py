"""What ``coldsoak doctor`` found, on a terminal or in a log file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from coldsoak.report.console import print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from coldsoak.machine.checks.base import State, Verdict
    from coldsoak.machine.checks.registry import Examination, Section

__all__ = ["headline", "render"]

_INDENT = 11
"""Columns of the state, in which longer texts leave a margin."""

_STYLE: dict[State, str] = {"bad": "bold red", "warn": "yellow", "unknown": "dim", "ok": "green"}


def render(found: Examination, console: Console, *, everything: bool = False) -> None:
    """Print a sentence, then each group, the worst first.

    Args:
        found: Of :func:`coldsoak.machine.checks.registry.examine`.
        console: Where to.
        everything: A line for each thing in order, instead of one for all of a group.

    """
    print_lines(Text(headline(found), style="bold"), console)
    if found.interpreter:
        print_lines(Text(f"Looked at {found.interpreter} {found.python}", style="dim"), console)
    for section in found.sections:
        _print(section, console, everything=everything)


def headline(found: Examination) -> str:
    """Return one sentence: how much is bad and how much is doubtful."""
    bad, warn = found.count("bad"), found.count("warn")
    if not bad and not warn:
        return "Nothing here is known to slow a first run or to spoil its measurement."
    parts = []
    if bad:
        parts.append(f"{bad} {'things are' if bad > 1 else 'thing is'} bad for first runs")
    if warn:
        things = "" if bad else " things" if warn > 1 else " thing"
        parts.append(f"{warn}{things} {'are' if warn > 1 else 'is'} doubtful")
    return ", ".join(parts) + "."


def _print(section: Section, console: Console, *, everything: bool) -> None:
    console.print()
    print_lines(Text(section.group.capitalize(), style="bold"), console)
    fine = [one for one in section.verdicts if one.state == "ok"]
    for one in section.verdicts:
        if one.state != "ok" or everything:
            _print_verdict(one, console)
    if fine and not everything:
        names = ", ".join(dict.fromkeys(one.code for one in fine))
        print_lines(Text.assemble(("ok", "green"), f"       {names}"), console, indent=2)


def _print_verdict(one: Verdict, console: Console) -> None:
    lines = Text(one.what).wrap(console, max(console.width - _INDENT, 20))
    label = Text(f"{one.state:<{_INDENT - 2}}", style=_STYLE[one.state])
    print_lines(label + lines[0], console, indent=2)
    for line in lines[1:]:
        print_lines(line, console, indent=_INDENT)
    if one.why:
        print_lines(Text(one.why, style="dim"), console, indent=_INDENT)
    if one.do:
        print_lines(Text.assemble(("Try: ", "dim"), (one.do, "cyan")), console, indent=_INDENT)
