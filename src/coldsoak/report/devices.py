"""What the machine has and what the frameworks call it, on a terminal or in a log file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from coldsoak.machine.devices import answers, rows
from coldsoak.report.console import print_lines, print_sheet
from coldsoak.report.sheet import Column, Sheet

if TYPE_CHECKING:
    from rich.console import Console

    from coldsoak.machine.devices import Survey

__all__ = ["device_sheets", "headline", "render"]


def render(survey: Survey, console: Console) -> None:
    """Print a sentence, the devices, the frameworks, and what could be installed."""
    print_lines(Text(headline(survey), style="bold"), console)
    for sheet in device_sheets(survey):
        print_sheet(sheet, console)


def headline(survey: Survey) -> str:
    """Return one sentence: the cards with driver and CUDA, or that there is none and why."""
    cards = survey.cards
    if not cards.cards:
        return f"No GPU is seen. {cards.reason} Frameworks run on the CPU."
    count = len(cards.cards)
    names = ", ".join(dict.fromkeys(card.name for card in cards.cards))
    return (
        f"{count} GPU{'s' if count > 1 else ''}: {names}; driver {cards.driver}, "
        f"which supports CUDA up to {cards.cuda}."
    )


def device_sheets(survey: Survey) -> tuple[Sheet, Sheet]:
    """Return the table of physical devices and the table of frameworks."""
    devices = rows(survey)
    physical = Sheet(
        "Devices",
        (Column("device"), Column("name"), Column("memory", right=True), Column("PCI")),
        tuple((row.label, row.name, row.memory, row.pci) for row in devices),
        details=tuple("; ".join(row.remarks) for row in devices),
        whole_details=True,
        remarks=(f"The process may use {survey.cores_usable:g} of {survey.cores} CPU cores.",),
    )
    seen = Sheet(
        "What the frameworks see",
        (Column("framework"), Column("version"), Column("asked in", right=True), Column("sees")),
        tuple((one.framework, one.version, one.took, one.sees) for one in answers(survey)),
        remarks=tuple(f"{name} is not installed: {how}" for name, how in survey.missing.items()),
    )
    return physical, seen
