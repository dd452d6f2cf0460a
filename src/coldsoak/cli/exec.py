"""``coldsoak exec``: run a command with a recipe, measuring nothing.

This is on the way of every start in production, so it parses its two options itself and imports
nothing beyond the standard library: 30 ms at most, the interpreter's start included.
"""

from __future__ import annotations

import os
import sys

from coldsoak.errors import CommandFailed, UsageError

TYPE_CHECKING = False  # typing takes 5 ms to import, on the way of `exec`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["HELP", "execute", "listed"]

HELP = """\
Usage: coldsoak exec [--recipe FILE] [--quiet] -- COMMAND...

  Run COMMAND with the remedies of a recipe, measuring nothing.

  Stages of the recipe that do not fit this machine are switched off and named
  on stderr; the command runs all the same, with its own exit status.

Options:
  --recipe FILE  What `coldsoak fix` wrote.  [default: coldsoak.recipe.toml]
  --quiet        Do not name the stages that were switched off.
  -h, --help     Show this message and exit.
"""


def listed() -> None:
    """Run COMMAND with a recipe, measuring nothing (for production)."""
    sys.stdout.write(HELP)


def execute(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the command.

    Raises:
        UsageError: no command, or an unknown option.
        FormatError: the recipe cannot be read.
        CommandFailed: the command cannot be started.
    """
    recipe, quiet, command = _parse(list(arguments))
    from coldsoak.remedies.apply import INJECT, apply, load_tables, script_of

    applied = apply(load_tables(recipe))
    if not quiet:
        wanted, here = applied.plan.partition("\n")[0].removeprefix("script "), script_of(command)
        other = [f"preheat is for {wanted}, {here} itself is not preheated"]
        differs = applied.plan.startswith("script ") and wanted != here
        for message in (*applied.messages, *(other if differs else ())):
            sys.stderr.write(f"coldsoak: {message}\n")
    env = {**os.environ, **applied.env}
    for name in applied.unset:
        env.pop(name, None)
    if applied.plan:
        env["COLDSOAK_PREHEAT"] = "quiet\n" + applied.plan if quiet else applied.plan
        env["PYTHONPATH"] = os.pathsep.join(
            part for part in (INJECT, env.get("PYTHONPATH")) if part
        )
    sys.stdout.flush()
    try:
        os.execvpe(command[0], command, env)  # noqa: S606 - to become the command is the task
    except OSError as error:
        raise CommandFailed(f"{command[0]} cannot be started.", why=str(error)) from error


def _parse(arguments: list[str]) -> tuple[str, bool, list[str]]:
    recipe, quiet = "coldsoak.recipe.toml", False
    while arguments:
        word = arguments.pop(0)
        if word in {"-h", "--help"}:
            sys.stdout.write(HELP)
            raise SystemExit(0)
        if word == "--":
            break
        if word == "--quiet":
            quiet = True
        elif word == "--recipe" and arguments:
            recipe = arguments.pop(0)
        elif word.startswith("--recipe="):
            recipe = word.partition("=")[2]
        elif word.startswith("-"):
            raise UsageError(f"exec does not know {word}.", do="coldsoak exec --help")
        else:
            arguments.insert(0, word)
            break
    if not arguments:
        raise UsageError("There is no command to run.", do="coldsoak exec --recipe FILE -- COMMAND")
    return recipe, quiet, arguments
