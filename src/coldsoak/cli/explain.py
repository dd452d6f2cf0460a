"""``coldsoak explain``: the page of a cause or a finding."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["explain"]


def explain(
    code: Annotated[
        str,
        typer.Argument(metavar="CODE", help="A cause or a finding; without it, all are listed."),
    ] = "",
) -> None:
    """Say what a cause or a finding is, what counts as evidence and what helps."""
    from coldsoak.cli.terminal import answering
    from coldsoak.report.pages import page_named, print_codes, print_page

    with answering() as console:
        if code:
            print_page(page_named(code), console)
        else:
            print_codes(console)
