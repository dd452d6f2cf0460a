"""``coldsoak devices``: what each framework sees."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["devices"]


def devices(
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the survey as JSON.")] = False,
    timeout: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="Time that each framework has to answer."),
    ] = 60.0,
) -> None:
    """List the devices: what each installed framework sees, and which names mean the same one."""
    from coldsoak import backends
    from coldsoak.cli.terminal import answering, say_json, waiting
    from coldsoak.machine.devices import survey
    from coldsoak.report.devices import render

    present = backends.installed()
    missing = {name: backends.get(name).install for name in backends.names() if name not in present}
    with waiting(f"asking {', '.join(present)}"):
        found = survey(present, missing=missing, timeout=timeout)
    if json:
        say_json(found)
        return
    with answering() as console:
        render(found, console)
