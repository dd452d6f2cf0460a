"""``coldsoak recipe``: what a recipe does, and the same in plain commands."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import Annotated

import typer

from coldsoak.cli.fix import DEFAULT_OUTPUT

__all__ = ["recipe"]


def recipe(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `coldsoak fix` wrote.")
    ] = DEFAULT_OUTPUT,
    *,
    form: Annotated[
        str | None,
        typer.Option("--as", metavar="FORM", help="shell, docker or kubernetes: plain commands."),
    ] = None,
) -> None:
    """Tell what a recipe does and whether it fits here, or print it for a shell or a container."""
    from coldsoak.cli.terminal import answering, say
    from coldsoak.errors import UsageError
    from coldsoak.remedies.export import FORMS, export
    from coldsoak.remedies.recipe import read

    if form is not None and form not in FORMS:
        raise UsageError(
            f"There is no form {form}.", do=f"--as {', '.join(FORMS[:-1])} or {FORMS[-1]}"
        )
    found = read(file)
    if form is not None:
        say(export(found, form))
        return
    from coldsoak.report.console import print_sheet
    from coldsoak.report.recipe import recipe_sheet

    sheet = recipe_sheet(found, file)
    with answering() as console:
        print_sheet(sheet, console, first=True)
