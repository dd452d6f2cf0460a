"""``coldsoak fix``: try the remedies that apply and write the verified recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coldsoak.cli import options as opt

if TYPE_CHECKING:
    from rich.console import Console

    from coldsoak.model.recipe import Goal
    from coldsoak.model.result import Options, Result
    from coldsoak.remedies.fixing import Fixed, Wanted
    from coldsoak.report.next_step import Reading

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
    cold: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL[,…]",
            help="What is cold: process (the default), cache, disk, bytecode; else as in RESULT.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="END",
            help="exit (the default), region:NAME[:K], port:P, http:URL or log:REGEX ends a "
            "launch; else as in RESULT.",
        ),
    ] = None,
    source_off: opt.SourceOff = None,
    force: opt.Force = False,
) -> None:
    """Try the remedies that apply to COMMAND, and write those that are proved to a recipe.

    Each remedy is compared with the unchanged command in random pairs of fresh processes; a
    placebo is always among them. Then the winners are tried together.
    """
    from coldsoak.cli.terminal import INTERRUPTED, refuse_overwriting

    refuse_overwriting(output, force=force)
    wanted = _wanted(
        goal, remedy, exclude, folklore=folklore, numerics=numerics, check=check, store=store
    )
    diagnosis = _diagnosis(command, from_result)
    options = opt.to_options(
        launches=pairs,
        budget=budget,
        timeout=timeout,
        cold=cold or ",".join(diagnosis.options.cold if diagnosis else ("process",)),
        target=0.05,
        no_trace=False,
        source_off=source_off,
        until=until or (diagnosis.options.until if diagnosis else "exit"),
    )
    done = _fix(command or [], options, diagnosis, wanted)
    _finish(done, output, everything=show_all)
    raise typer.Exit(0 if done.result.complete else INTERRUPTED)


def _finish(done: Fixed, output: Path, *, everything: bool) -> None:
    """Write the recipe, then print the answer: a reader of it can go away.

    Raises:
        UsageError: The recipe cannot be written; the answer has been printed.

    """
    from coldsoak.cli.terminal import AGAIN, answering
    from coldsoak.errors import UsageError
    from coldsoak.fixing import write_recipe
    from coldsoak.report.next_step import Reading

    unwritten: UsageError | None = None
    try:
        done = write_recipe(done, output)
    except UsageError as error:
        unwritten = error
    with answering(AGAIN) as console:
        _show(done, console, Reading(everything=everything))
    if unwritten is not None:
        raise unwritten


def _show(done: Fixed, console: Console, reading: Reading) -> None:
    """Print what was tried, advice, and what the recipe gives."""
    from rich.text import Text

    from coldsoak.report.console import print_answer, print_lines, print_next

    print_answer(done.result, console, reading)
    for title, text in done.advice:
        console.print()
        print_lines(Text(f"Advice: {title}", style="bold"), console)
        print_lines(Text(text), console, indent=2)
    print_next(done.result, console, reading)


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
        raise UsageError(
            f"There is no goal {goal}.", do=f"--goal {', '.join(GOALS[:-1])} or {GOALS[-1]}"
        )
    return Wanted(
        goal=goal,
        named=tuple(remedy or ()),
        excluded=tuple(exclude or ()),
        folklore=folklore,
        numerics=numerics,
        check=check,
        store=store,
    )


def _diagnosis(command: list[str] | None, from_result: str | None) -> Result | None:
    """Return the stored result to start from, if one is named."""
    from coldsoak.errors import UsageError
    from coldsoak.launch.store import load

    if from_result is not None:
        return load(from_result)
    if not command:
        raise UsageError("There is no command to fix.", do="coldsoak fix -- python script.py")
    return None


def _fix(command: list[str], options: Options, diagnosis: Result | None, wanted: Wanted) -> Fixed:
    from coldsoak import fixing
    from coldsoak.cli.progress import progress_on
    from coldsoak.cli.terminal import err

    if diagnosis is None:
        text = "First the command as it is, then with remedies"
        err().print(f"{text}, for up to {options.budget_s:g} s in all.", style="dim")
    return fixing.fix(command, options, wanted, diagnosis=diagnosis, progress=progress_on(err()))
