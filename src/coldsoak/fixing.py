"""From a command to a verified recipe: the diagnosis, the trials, and the file."""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from coldsoak import pipeline
from coldsoak.errors import UsageError
from coldsoak.launch.redact import REDACTED, redact_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coldsoak.launch.progress import Progress
    from coldsoak.model.result import Options, Result
    from coldsoak.remedies.fixing import Fixed, Wanted

__all__ = ["diagnose", "fix", "write_recipe"]

DIAGNOSIS_LAUNCHES = 3
"""Timed launches of a diagnosis; one traced launch and one discarded come with them."""


def diagnose(
    command: Sequence[str], options: Options, *, progress: Progress | None = None
) -> Result:
    """Measure the unchanged command shortly, with traces: where are the seconds?"""
    short = replace(options, launches=DIAGNOSIS_LAUNCHES, trace=True)
    return pipeline.measure(
        [pipeline.command_arm(command)], short, kind="run", command=command, progress=progress
    )


def fix(
    command: Sequence[str],
    options: Options,
    wanted: Wanted,
    *,
    diagnosis: Result | None = None,
    progress: Progress | None = None,
) -> Fixed:
    """Find remedies for ``command`` and try them.

    Args:
        command: The command; empty for that of ``diagnosis``.
        options: Of the trials; ``launches`` is the number of pairs, if it is fixed.
        wanted: Goal, remedies and check.
        diagnosis: A stored result of the command; None to make one.
        progress: Hears what happens.

    Raises:
        UsageError: A remedy is unknown, or the diagnosis is of another command, or has no traced launch.
        ColdsoakError: As ``launch.session.measure``.
        KeyboardInterrupt: It was interrupted before anything was tried.

    """
    from coldsoak.launch.store import Store
    from coldsoak.remedies.fixing import fix as try_remedies
    from coldsoak.remedies.registry import find

    find(wanted.named)
    find(wanted.excluded)
    began = time.monotonic()
    if diagnosis is None:
        diagnosis = diagnose(command, options, progress=progress)
        if not diagnosis.complete:  # nothing was tried, so there is no answer
            raise KeyboardInterrupt
    diagnosis = _of_command(diagnosis, command)
    left = max(0.0, options.budget_s - (time.monotonic() - began))
    return try_remedies(
        diagnosis,
        replace(options, budget_s=left),
        wanted,
        store=Store(),
        progress=progress,
        attribute=pipeline.attributed,
    )


def write_recipe(done: Fixed, output: Path) -> Fixed:
    """Write the recipe to ``output``, and note in the stored result where it is.

    Returns ``done`` as it is when there is no recipe, or the trials were interrupted.

    Raises:
        UsageError: The file cannot be written; the result is stored without it.

    """
    from coldsoak.launch.store import Store, write_atomically
    from coldsoak.remedies.recipe import encode

    if done.recipe is None or not done.result.complete:
        return done
    write_atomically(output, encode(done.recipe, output.name))
    result = replace(done.result, recipe_file=str(output.absolute()))
    Store().save(result)
    return done._replace(result=result)


def _of_command(diagnosis: Result, command: Sequence[str]) -> Result:
    """Return the diagnosis with the command as it is to be launched, secrets included."""
    _check(diagnosis, command)
    first, *rest = diagnosis.arms
    argv = tuple(command) or first.argv
    if REDACTED in " ".join(argv):
        raise UsageError(
            "The stored command does not have its secrets.",
            why=shlex.join(argv),
            do=f"coldsoak fix --from {diagnosis.id} -- COMMAND",
        )
    return replace(diagnosis, arms=(replace(first, argv=argv), *rest))


def _check(diagnosis: Result, command: Sequence[str]) -> None:
    if not diagnosis.complete or diagnosis.kind == "bench" or not diagnosis.arms:
        raise UsageError(
            f"{diagnosis.id} is no finished result of a command.", do="coldsoak run -- COMMAND"
        )
    if diagnosis.options.tf1:
        raise UsageError(
            "A fix of a script that needs --tf1 could not be used.",
            why="a recipe does not make TensorFlow 2 run it",
        )
    measured = diagnosis.arms[0]
    if command and redact_command(command) != redact_command(measured.argv):
        raise UsageError(
            "The result is of another command.",
            why=f"it measured: {' '.join(measured.argv)}",
            do="give the same command, or none",
        )
    if measured.cwd and not os.path.isdir(measured.cwd):  # noqa: PTH112
        raise UsageError(f"The folder of the command is gone: {measured.cwd}.")
