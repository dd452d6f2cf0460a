"""``coldsoak results``: what has been measured before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coldsoak.launch.store import Store
    from coldsoak.model.result import Result
    from coldsoak.report.listing import Row

__all__ = ["results"]


def results(
    *,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many to list.")] = 20,
) -> None:
    """List the stored results, newest first."""
    from coldsoak.cli.terminal import answering
    from coldsoak.launch.store import Store
    from coldsoak.report.console import print_sheet
    from coldsoak.report.listing import listing_sheet

    store = Store()
    identifiers = store.identifiers()[::-1]
    found = [_read(store, identifier) for identifier in identifiers[:limit]]
    with answering() as console:
        if not found:
            console.print(f"There are no results in {store.results}.", markup=False, soft_wrap=True)
            return
        sheet = listing_sheet(found, str(store.results), len(identifiers))
        print_sheet(sheet, console, first=True)


def _read(store: Store, identifier: str) -> Result | Row:
    from coldsoak.errors import ColdsoakError
    from coldsoak.report.listing import unreadable_row

    try:
        return store.load(identifier)
    except ColdsoakError as error:
        return unreadable_row(identifier, f"unreadable: {error.why or error.what}")
