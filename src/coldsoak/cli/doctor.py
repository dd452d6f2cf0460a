"""``coldsoak doctor``: is this machine ready, and is it set up well?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coldsoak.machine.checks.registry import Examination
    from coldsoak.machine.checks.subject import Subject

__all__ = ["doctor"]


def doctor(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Whose interpreter to look at."),
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for warnings too, as a gate in CI.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show what is in order too, a line each.")
    ] = False,
) -> None:
    """Look for what would slow first runs or spoil their measurement. Changes nothing.

    Exit status: 0 all in order, 1 something is bad (with --strict: or doubtful).
    """
    from coldsoak.cli.terminal import answering, say_json, waiting
    from coldsoak.machine.checks.registry import examine

    with waiting("looking"):
        found = examine(_subject(tuple(command or ())))
    if json:
        say_json(found)
    else:
        from coldsoak.report.doctor import render

        with answering() as console:
            render(found, console, everything=everything)
    raise typer.Exit(_status(found, strict=strict))


def _status(found: Examination, *, strict: bool) -> int:
    return int(found.count("bad") > 0 or (strict and found.count("warn") > 0))


def _subject(command: tuple[str, ...]) -> Subject:
    import os
    import sys

    from coldsoak.launch.command import find_python, resolve
    from coldsoak.launch.pagecache import resident_bytes
    from coldsoak.launch.perfready import perf_ready
    from coldsoak.machine import nvml
    from coldsoak.machine.checks.interpreter import Interpreter, ask
    from coldsoak.machine.checks.subject import Subject

    def perf() -> bool:
        with perf_ready() as allowed:
            return allowed

    python: str | None = sys.executable
    if command:
        python = find_python(resolve(command))
    environment = dict(os.environ)
    return Subject(
        environment=environment,
        python=ask(python, environment)
        if python
        else Interpreter(executable=command[0], error="it is not a Python program"),
        cards=nvml.read(),
        resident=resident_bytes,
        perf=perf,
    )
