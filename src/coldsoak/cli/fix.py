"""``coldsoak fix``: try the remedies that apply and write the verified recipe."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coldsoak.cli import options as opt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.recipe import Goal
    from coldsoak.model.result import Options, Result
    from coldsoak.remedies.fixing import Fixed, Wanted

__all__ = ["DEFAULT_OUTPUT", "fix", "show"]

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
            metavar="|".join(GOALS),
            help="What is to become faster; else the first result, or the exit without a region.",
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
    from coldsoak.cli.terminal import refuse_overwriting

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
    show(done.result, advice=done.advice, everything=show_all)
    raise typer.Exit(_write(done, output))


def show(
    result: Result, *, advice: Sequence[tuple[str, str]] = (), everything: bool = False
) -> None:
    """Print what was tried and what the recipe gives."""
    from rich.text import Text

    from coldsoak.cli.terminal import out
    from coldsoak.report.console import print_lines, print_sheet, render
    from coldsoak.report.fix import left_out_sheet

    console = out()
    render(result, console)
    rest = left_out_sheet(result) if everything else None
    if rest is not None:
        print_sheet(rest, console)
    for title, text in advice:
        console.print()
        print_lines(Text(f"Advice: {title}", style="bold"), console)
        print_lines(Text(text), console, indent=2)


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


def _write(done: Fixed, output: Path) -> int:
    """Write the recipe and say how to use it; return the exit status."""
    from rich.text import Text

    from coldsoak.cli.terminal import INTERRUPTED, out
    from coldsoak.launch.store import write_atomically
    from coldsoak.remedies.recipe import encode

    if not done.result.complete:
        return INTERRUPTED
    if done.recipe is not None:
        write_atomically(output, encode(done.recipe, output.name))
        line = f"coldsoak exec --recipe {output} -- {shlex.join(done.recipe.command)}"
        text = Text.assemble((f"{output} is written. Use it: ", "dim"), (line, "bold cyan"))
        out().print(text, soft_wrap=True)
    return 0
