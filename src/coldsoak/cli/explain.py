"""``coldsoak explain``: the page of a cause."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["explain"]


def explain(
    code: Annotated[
        str, typer.Argument(metavar="[CODE]", help="A cause; without it, all are listed.")
    ] = "",
) -> None:
    """Say what a cause is, how it scales, what counts as evidence and what helps."""
    from coldsoak.cli.terminal import out
    from coldsoak.report.pages import cause_named, print_codes, print_page

    if code:
        print_page(cause_named(code), out())
    else:
        print_codes(out())
