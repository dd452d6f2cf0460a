"""Reads a launch's spool back: the files of ``docs/spool.md`` become parts of a ``model.Launch``.

Whatever a launch left behind can be read; what could not be is told in a note.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.launch import lives, series, stretches
from coldsoak.launch.evidence import over_processes
from coldsoak.launch.spoolfile import File, read_file
from coldsoak.model import spool
from coldsoak.model.result import Child, Execution, Note, Process, Series, SourceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Contents", "read"]


@dataclass(frozen=True)
class Contents:
    """Everything in the spool of one launch; times in ns since the spawn."""

    processes: tuple[Process, ...]
    """By start; the first is the main process as far as it carried the agent."""
    executions: tuple[Execution, ...]
    """In program order over all processes."""
    series: tuple[Series, ...]
    children: tuple[Child, ...]
    """Processes that were started and wrote no spool."""
    notes: tuple[Note, ...]
    sources: tuple[SourceState, ...]
    spools: tuple[Path, ...]
    """For :func:`coldsoak.launch.spoolfile.records`: spans and imports stay in the files until a trace is made."""
    damaged: int
    """Lines that could not be decoded."""


def read(
    folder: Path,
    *,
    t0_ns: int,
    spawn_pid: int | None,
    end_ns: int | None,
    ends: Mapping[int, int] | None = None,
) -> Contents:
    """Read the spool of one launch.

    Args:
        folder: Folder of the launch; one that is missing counts as empty.
        t0_ns: CLOCK_MONOTONIC at the spawn.
        spawn_pid: Process that was spawned.
        end_ns: CLOCK_MONOTONIC at its end, or None when unknown.
        ends: The same for other processes by pid, where they were seen to end.

    """
    opened = (read_file(path) for path in sorted(folder.glob("*.jsonl")))
    files = sorted(
        (file for file in opened if file is not None), key=lambda file: file.process.begin_ns
    )
    _inherit(files)
    known = dict(ends or {})
    if spawn_pid is not None and end_ns is not None:
        known[spawn_pid] = end_ns
    spans = lives.find(files, t0_ns=t0_ns, spawn_pid=spawn_pid, ends=known)
    found = series.find(files, t0_ns=t0_ns)
    processes = [
        stretches.process(file, life, found.names_of(file), t0_ns=t0_ns)
        for file, life in zip(files, spans, strict=True)
    ]
    return Contents(
        processes=tuple(
            sorted(processes, key=lambda process: (process.start_ns, process.ready_ns))
        ),
        executions=found.executions,
        series=found.series,
        children=tuple(lives.strangers(files, t0_ns=t0_ns)),
        notes=tuple(_notes(files)),
        sources=over_processes(file.sources for file in files),
        spools=tuple(file.path for file in files),
        damaged=sum(file.damaged for file in files),
    )


def _inherit(files: Sequence[File]) -> None:
    """Give a forked child the sites and keys that its parent had already written."""
    by_pid: dict[int, File] = {}
    for file in files:
        parent = by_pid.get(file.process.ppid)
        if file.process.how == "fork" and parent is not None:
            file.sites = {**parent.sites, **file.sites}
            file.keys = {**parent.keys, **file.keys}
        by_pid[file.process.pid] = file


def _notes(files: Iterable[File]) -> Iterator[Note]:
    """Pass on the agents' notes, each once, and tell what could not be read."""
    texts: dict[tuple[str, str], Note] = {}
    for file in files:
        for note in file.notes:
            texts.setdefault((note.code, note.text), Note(code=note.code, text=note.text))
        if file.process.protocol > spool.PROTOCOL:
            text = (
                f"Process {file.process.pid} wrote records of version {file.process.protocol}; "
                f"this coldsoak knows {spool.PROTOCOL}, so some may be missing."
            )
            texts["protocol", text] = Note(code="protocol", text=text)
        if file.damaged:
            lines = "1 line" if file.damaged == 1 else f"{file.damaged} lines"
            text = f"{lines} in the records of process {file.process.pid} could not be read."
            texts["damaged", text] = Note(code="damaged", text=text)
    yield from texts.values()
