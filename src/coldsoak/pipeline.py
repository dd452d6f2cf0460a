"""From a plan to a saved result with its ledgers: where launching and attributing meet.

``launch`` does not know the ledger and the ledger does not know launches; the command line and
the Python interface both come through here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from coldsoak.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coldsoak.launch.progress import Progress
    from coldsoak.model.ledger import Ledger
    from coldsoak.model.result import Arm, Note, Options, Result

__all__ = ["command_arm", "compared", "ledgers_of", "measure", "reattribute"]

NAME = "command"
"""Name of the only arm of a plain run."""


def command_arm(argv: Sequence[str]) -> Arm:
    """Return the arm of ``coldsoak run``: ``argv`` in the current folder, nothing changed.

    Raises:
        UsageError: There is no command.

    """
    from coldsoak.model.result import Arm

    if not argv:
        raise UsageError("There is no command to measure.", do="coldsoak run -- python script.py")
    return Arm(name=NAME, argv=tuple(argv), cwd=os.getcwd())  # noqa: PTH109 (str, as in the model)


def measure(
    arms: Sequence[Arm],
    options: Options,
    *,
    kind: Literal["run", "bench"],
    command: Sequence[str],
    progress: Progress | None = None,
    echo: bool = False,
    ignore_failure: bool = False,
    notes: Sequence[Note] = (),
) -> Result:
    """Launch ``arms``, save the result under the platform's data folder and return it.

    ``notes`` are added to it; a bench also says which arms computed something else.

    Raises:
        ColdsoakError: As ``launch.session.measure``; what was measured until then is saved.

    """
    from coldsoak.backends.report import parse_report
    from coldsoak.launch.executor import ProcessExecutor
    from coldsoak.launch.session import measure as session
    from coldsoak.launch.store import Store
    from coldsoak.machine.host import describe

    store = Store()
    result = session(
        arms,
        options,
        kind=kind,
        command=command,
        store=store,
        executor=ProcessExecutor(echo=echo, read_report=parse_report if kind == "bench" else None),
        progress=progress,
        machine=describe(),
        ignore_failure=ignore_failure,
        attribute=ledgers_of if options.trace else None,
    )
    if kind == "bench":
        result = compared(result)
    if notes or kind == "bench":
        result = replace(result, notes=(*result.notes, *notes))
        store.save(result)
    return result


def compared(result: Result) -> Result:
    """Return the result of a bench without the figures of arms that computed something else."""
    from coldsoak.plans import check, void
    from coldsoak.stats.summary import summarise

    faults = check(result)
    if not faults:
        return result
    voided = void(result)
    return replace(voided, summaries=summarise(voided), notes=(*result.notes, *faults))


def ledgers_of(result: Result, folder: Path) -> tuple[Ledger, ...]:
    """Attribute every traced launch of ``result`` whose trace lies in ``folder``."""
    from coldsoak.launch.trace import load_trace
    from coldsoak.ledger import attribute

    return tuple(
        ledger
        for launch in result.launches
        if launch.trace and (folder / launch.trace).is_file()
        for ledger in attribute(load_trace(folder / launch.trace), launch, series=result.series)
    )


def reattribute(result: Result, folder: Path) -> Result:
    """Return ``result`` with ledgers worked out again from its traces.

    Raises:
        UsageError: There is no trace in ``folder``.

    """
    ledgers = ledgers_of(result, folder)
    if not ledgers:
        raise UsageError(
            "There is no trace to work the causes out from.",
            why="the result was measured with --no-trace"
            if not result.options.trace
            else f"{folder} has none",
            do="coldsoak run -- COMMAND",
        )
    return replace(result, ledgers=ledgers)
