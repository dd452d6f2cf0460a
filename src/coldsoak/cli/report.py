"""``coldsoak report``: read a saved result again."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from coldsoak.cli import options as opt  # noqa: TC001 (Typer reads the annotations)

__all__ = ["report"]


def report(
    result: Annotated[
        str,
        typer.Argument(metavar="RESULT", help="A file, an id or the start of one, or last."),
    ] = "last",
    *,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print every observation as comma-separated values.")
    ] = False,
    reattribute: Annotated[
        bool, typer.Option("--reattribute", help="Work the causes out again from the traces.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Of a fix: list what was not tried, and why.")
    ] = False,
    json: opt.Json = None,
    perfetto: opt.Perfetto = None,
    force: opt.Force = False,
) -> None:
    """Print the answer of a saved result again, or export it."""
    from coldsoak.cli.measuring import Outputs, reread, show, write_outputs
    from coldsoak.cli.terminal import say
    from coldsoak.errors import UsageError
    from coldsoak.report.next_step import Reading

    if markdown and csv:
        raise UsageError("--markdown and --csv exclude each other.", do="Give one of them.")
    reading = Reading(reference=shlex.quote(result), everything=everything)
    outputs = Outputs(json=json, perfetto=perfetto, force=force)
    found, folder = reread(result, reattribute=reattribute)
    write_outputs(found, folder, outputs)
    if markdown:
        from coldsoak.report.markdown import markdown as text

        say(text(found, reading))
    elif csv:
        from coldsoak.report.csvfile import csv_text

        say(csv_text(found))
    else:
        show(found, reading)
