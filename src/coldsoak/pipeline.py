"""From a plan to a saved result with ledgers and findings: where launching and judging meet.

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
    from coldsoak.model.result import Arm, Launch, Note, Options, Result

__all__ = [
    "attributed",
    "command_arm",
    "compared",
    "judged",
    "measure",
    "reattribute",
    "sources_of",
]

SOURCE_BYTES = 128 * 1024
"""Longest file of the user's that a result keeps."""
SOURCES_BYTES = 512 * 1024
"""What all of them may take together."""
LOG_BYTES = 64 * 1024 * 1024
"""How much of a launch's output findings look through; a program may print without end."""

NAME = "command"
"""Name of the only arm of a plain run."""


def command_arm(argv: Sequence[str]) -> Arm:
    """Return the arm of ``coldsoak run``: ``argv`` in the current folder, nothing changed.

    Raises:
        UsageError: There is no command, or the current folder is gone.

    """
    from coldsoak.model.result import Arm

    if not argv:
        raise UsageError("There is no command to measure.", do="coldsoak run -- python script.py")
    try:
        folder = os.getcwd()  # noqa: PTH109 (str, as in the model)
    except FileNotFoundError:
        raise UsageError("The current folder is gone.", do="Change to one that exists.") from None
    return Arm(name=NAME, argv=tuple(argv), cwd=folder)


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
    from coldsoak.backends.report import find_report
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
        executor=ProcessExecutor(echo=echo, read_report=find_report if kind == "bench" else None),
        progress=progress,
        machine=describe(),
        ignore_failure=ignore_failure,
        attribute=attributed if options.trace else None,
    )
    if kind == "bench":
        result = compared(result)
    result = replace(
        result, notes=(*result.notes, *notes), sources={} if kind == "bench" else sources_of(result)
    )
    result = judged(result)
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


def attributed(result: Result, folder: Path) -> Result:
    """Return ``result`` with the ledgers and facts of the traced launches that left a trace."""
    from coldsoak.findings import extract
    from coldsoak.launch.trace import load_trace
    from coldsoak.ledger import attribute

    launches: list[Launch] = []
    ledgers: list[Ledger] = []
    for launch in result.launches:
        if not launch.trace or not (folder / launch.trace).is_file():
            launches.append(launch)
            continue
        trace = load_trace(folder / launch.trace)
        ledgers += attribute(trace, launch, series=result.series)
        facts = extract(trace, launch, _log(folder, launch.log))
        launches.append(replace(launch, facts=facts))
    return replace(result, launches=tuple(launches), ledgers=tuple(ledgers))


def _log(folder: Path, name: str) -> str:
    file = folder / name
    if not name or not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(LOG_BYTES).decode("utf-8", "replace")


def sources_of(result: Result) -> dict[str, str]:
    """Return the texts of the files in which ``result`` has clock readings, as far as they are short.

    String literals that may be secrets are hidden. Notebook cells and files that are gone or cannot
    be parsed are left out.
    """
    from pathlib import Path

    folder = Path(result.arms[0].cwd) if result.arms else Path()
    sites = [
        site
        for series in result.series
        for site in (series.start, series.end, *series.stack)
        if site is not None
    ]
    texts: dict[str, str] = {}
    room = SOURCES_BYTES
    for name in dict.fromkeys(site.file for site in sites):
        text, size = _short_text(folder / name, min(room, SOURCE_BYTES))
        if text is not None:
            texts[name] = text
            room -= size
    return texts


def _short_text(file: Path, most: int) -> tuple[str | None, int]:
    """Return the text of a regular file of at most ``most`` bytes and its size; None without one."""
    from coldsoak.launch.redact_source import redact_source

    try:
        size = file.stat().st_size
        if not file.is_file() or size > most:
            return None, 0
        return redact_source(file.read_text(encoding="utf-8")), size
    except (OSError, ValueError):
        return None, 0


def judged(result: Result) -> Result:
    """Return ``result`` with its findings worked out by this version."""
    from coldsoak.findings import judge

    return judge(result)


def reattribute(result: Result, folder: Path) -> Result:
    """Return ``result`` with ledgers, facts and findings worked out again from its traces.

    Raises:
        UsageError: There is no trace in ``folder``.

    """
    found = attributed(result, folder)
    if not found.ledgers:
        raise UsageError(
            "There is no trace to work the causes out from.",
            why="the result was measured with --no-trace"
            if not result.options.trace
            else f"{folder} has none",
            do="coldsoak run -- COMMAND",
        )
    return judged(found)
