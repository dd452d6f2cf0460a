"""The commands and their common options; light enough that ``--help`` answers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from coldsoak import __version__
from coldsoak.cli import (
    bench,
    devices,
    doctor,
    exec,  # noqa: A004
    explain,
    report,
    results,
    run,
    schema,
    serve_warm,
)
from coldsoak.cli import fix as fix_command
from coldsoak.cli import recipe as recipe_command
from coldsoak.cli.helping import Command, Group

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["app"]

# Rich help takes twice as long to draw and reads no better in a log file.
app = typer.Typer(
    name="coldsoak",
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 answered, 1 the command failed, 2 usage, 3 nothing could be measured, "
    "130 interrupted.",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 (the signature is Typer's)
    if wanted:
        typer.echo(f"coldsoak {__version__}")
        raise typer.Exit


@app.callback()
def _coldsoak(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Why is the first run slow, and what makes it fast?

    coldsoak starts fresh processes of your command, measures the first run against the later ones,
    and says where the difference goes. Try:

      coldsoak run -- python script.py
    """


def _add(
    name: str, command: Callable[..., None], short: str = "", *, follows: bool = False
) -> None:
    """List a command; with ``follows`` its first argument begins a command with its own options."""
    settings = {"allow_interspersed_args": False} if follows else {}
    app.command(name, cls=Command, short_help=short or None, context_settings=settings)(command)


_add("run", run.run, "Say why the first run of COMMAND is slow.", follows=True)
_add("bench", bench.bench, "The same for a known workload: frameworks, devices, shapes.")
_add(
    "fix",
    fix_command.fix,
    "Try the remedies that apply, and write a recipe of those proved.",
    follows=True,
)
_add("recipe", recipe_command.recipe, "Tell what a recipe does, or print it as plain commands.")
_add("report", report.report)
_add("explain", explain.explain, "Say what a cause or a finding is, and what helps.")
_add("devices", devices.devices, "List the devices that each installed framework sees.")
_add(
    "doctor",
    doctor.doctor,
    "Look for what would slow first runs or spoil their measurement.",
    follows=True,
)
_add("results", results.results)
_add("schema", schema.schema)

# These parse their options themselves, before Typer is imported; here they are listed.
for _name, _listed in (
    ("exec", exec.listed),
    ("serve-warm", serve_warm.serve_listed),
    ("run-warm", serve_warm.run_listed),
):
    app.command(
        _name,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(_listed)
