"""``coldsoak fix``: try the remedies that apply and write the verified recipe."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coldsoak.cli import options as opt

if TYPE_CHECKING:
    from rich.console import Console

    from coldsoak.model.recipe import Goal, Recipe
    from coldsoak.model.result import Options
    from coldsoak.remedies.fixing import Fixed, Wanted

__all__ = ["DEFAULT_OUTPUT", "fix"]

DEFAULT_OUTPUT = Path("coldsoak.recipe.toml")
GOALS: tuple[Goal, ...] = ("first-result", "first-region", "exit")


def fix(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="What to make faster, as you would type it."),
    ] = None,
    *,
    goal: Annotated[
        str | None,
        typer.Option(
            metavar="GOAL",
            help="What is to become faster: first-result, first-region or exit; else the first "
            "result, or the exit where there is no region.",
        ),
    ] = None,
    budget: opt.Budget = 600.0,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=2, metavar="N", help="Pairs of launches for each remedy; else until it is clear."
        ),
    ] = None,
    remedy: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Try only this remedy. Repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Leave this remedy out. Repeatable.")
    ] = None,
    folklore: Annotated[
        bool, typer.Option("--folklore", help="Try what is known to do nothing as well.")
    ] = False,
    numerics: Annotated[
        bool,
        typer.Option("--numerics", help="Let remedies into the recipe that may change results."),
    ] = False,
    from_result: Annotated[
        str | None,
        typer.Option("--from", metavar="RESULT", help="Start from a stored result of COMMAND."),
    ] = None,
    check: Annotated[
        str,
        typer.Option(
            metavar="CMD", help="Run this after each launch; its status and output must not change."
        ),
    ] = "",
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the caches of the recipe.")
    ] = None,
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the recipe is written.")
    ] = DEFAULT_OUTPUT,
    show_all: Annotated[
        bool, typer.Option("--all", help="List the remedies that were not tried, and why.")
    ] = False,
    timeout: opt.Timeout = 600.0,
    cold: opt.Cold = "process",
    until: opt.Until = "exit",
    source_off: opt.SourceOff = None,
    force: opt.Force = False,
) -> None:
    """Try the remedies that apply to COMMAND, and write those that are proved to a recipe.

    Each remedy is compared with the unchanged command in random pairs of fresh processes; a
    placebo is always among them. Then the winners are tried together.
    """
    from coldsoak.cli.terminal import AGAIN, INTERRUPTED, answering, refuse_overwriting

    refuse_overwriting(output, force=force)
    options = opt.to_options(
        launches=pairs,
        budget=budget,
        timeout=timeout,
        cold=cold,
        target=0.05,
        no_trace=False,
        source_off=source_off,
        until=until,
    )
    done = _fix(
        command or [],
        options,
        from_result,
        _wanted(
            goal, remedy, exclude, folklore=folklore, numerics=numerics, check=check, store=store
        ),
    )
    written = _write(done, output)  # before a reader of the answer can go away
    with answering(AGAIN) as console:
        _show(done, console, everything=show_all)
        if written is not None:
            _show_use(written, output, console)
    raise typer.Exit(0 if done.result.complete else INTERRUPTED)


def _show(done: Fixed, console: Console, *, everything: bool) -> None:
    """Print what was tried and what the recipe gives."""
    from rich.text import Text

    from coldsoak.report.console import print_lines, print_sheet, render
    from coldsoak.report.fix import left_out_sheet

    render(done.result, console)
    rest = left_out_sheet(done.result) if everything else None
    if rest is not None:
        print_sheet(rest, console)
    for title, text in done.advice:
        console.print()
        print_lines(Text(f"Advice: {title}", style="bold"), console)
        print_lines(Text(text), console, indent=2)


def _show_use(recipe: Recipe, output: Path, console: Console) -> None:
    """Say how to use the recipe that was written to ``output``."""
    from rich.text import Text

    line = f"coldsoak exec --recipe {output} -- {shlex.join(recipe.command)}"
    text = Text.assemble((f"{output} is written. Use it: ", "dim"), (line, "bold cyan"))
    console.print(text, soft_wrap=True)


def _wanted(
    goal: str | None,
    remedy: list[str] | None,
    exclude: list[str] | None,
    *,
    folklore: bool,
    numerics: bool,
    check: str,
    store: Path | None,
) -> Wanted:
    from coldsoak.errors import UsageError
    from coldsoak.remedies.fixing import Wanted

    if goal is not None and goal not in GOALS:
        raise UsageError(f"There is no goal {goal}.", do=f"--goal {' or '.join(GOALS)}")
    return Wanted(
        goal=goal,
        named=tuple(remedy or ()),
        excluded=tuple(exclude or ()),
        folklore=folklore,
        numerics=numerics,
        check=check,
        store=store,
    )


def _fix(command: list[str], options: Options, from_result: str | None, wanted: Wanted) -> Fixed:
    from coldsoak import fixing
    from coldsoak.cli.progress import progress_on
    from coldsoak.cli.terminal import err
    from coldsoak.errors import UsageError
    from coldsoak.launch.store import load

    diagnosis = load(from_result) if from_result is not None else None
    if diagnosis is None and not command:
        raise UsageError("There is no command to fix.", do="coldsoak fix -- python script.py")
    return fixing.fix(command, options, wanted, diagnosis=diagnosis, progress=progress_on(err()))


def _write(done: Fixed, output: Path) -> Recipe | None:
    """Write the recipe, if there is one and nothing was interrupted; return what was written."""
    from coldsoak.launch.store import write_atomically
    from coldsoak.remedies.recipe import encode

    if done.recipe is None or not done.result.complete:
        return None
    write_atomically(output, encode(done.recipe, output.name))
    return done.recipe
