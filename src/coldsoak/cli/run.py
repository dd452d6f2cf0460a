"""``coldsoak run``: any command, unmodified."""

from __future__ import annotations

from typing import Annotated

import typer

from coldsoak.cli import options as opt

__all__ = ["run"]


def run(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="What to measure, with its arguments.")
    ],
    *,
    launches: opt.Launches = None,
    budget: opt.Budget = 60.0,
    target: opt.Target = 0.05,
    cold: opt.Cold = "process",
    rerun: Annotated[
        int,
        typer.Option(min=1, metavar="K", help="Execute the script this often in one process."),
    ] = 1,
    until: opt.Until = "exit",
    timeout: opt.Timeout = 600.0,
    tf1: Annotated[
        bool, typer.Option("--tf1", help="Run a TensorFlow 1 script on TensorFlow 2.")
    ] = False,
    echo: Annotated[
        bool, typer.Option("--echo", help="Show the command's output while it runs.")
    ] = False,
    ignore_failure: Annotated[
        bool, typer.Option("--ignore-failure", help="Measure a command that exits with an error.")
    ] = False,
    no_trace: opt.NoTrace = False,
    source_off: opt.SourceOff = None,
    json: opt.Json = None,
    perfetto: opt.Perfetto = None,
    force: opt.Force = False,
) -> None:
    """Measure the first run of COMMAND in fresh processes, and say where it goes.

    Options of coldsoak stand before COMMAND; all that follows it is passed on as it is.
    """
    from coldsoak.cli.measuring import Outputs, answer
    from coldsoak.pipeline import command_arm

    options = opt.to_options(
        launches=launches,
        budget=budget,
        timeout=timeout,
        cold=cold,
        target=target,
        no_trace=no_trace,
        source_off=source_off,
        until=until,
        rerun=rerun,
        tf1=tf1,
    )
    outputs = Outputs(json=json, perfetto=perfetto, force=force)
    status = answer(
        [command_arm(command)],
        options,
        outputs,
        kind="run",
        command=command,
        echo=echo,
        ignore_failure=ignore_failure,
    )
    raise typer.Exit(status)
