"""What a launch left behind becomes one ``model.Launch``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from coldsoak.launch import agentless, spool, trace
from coldsoak.launch.command import find_python
from coldsoak.launch.logs import log_path
from coldsoak.launch.spoolfile import records
from coldsoak.launch.tail import last_lines
from coldsoak.model.result import Child, Conditions, Launch, Note, Series

if TYPE_CHECKING:
    from pathlib import Path

    from coldsoak.launch.request import Request
    from coldsoak.launch.running import Ended

__all__ = ["ReadReport", "build", "trace_path"]

ReadReport = Callable[[Sequence[str], str], dict[str, Any]]
"""Takes the texts of the agent's ``data`` notes and the log; returns ``Launch.data``."""

DATA = "data"
"""Code of the notes by which programs and sources hand over figures, as a JSON object."""

REPORT_BYTES = 1 << 20
"""End of the log in which a worker's report is looked for, in bytes."""


def trace_path(index: int) -> str:
    """Return the path of a launch's trace, relative to the result's folder."""
    return f"traces/{index:03d}.trace.gz"


def build(
    request: Request,
    ended: Ended,
    *,
    spool: Path,
    file: str,
    conditions: Conditions,
    notes: tuple[Note, ...] = (),
    read_report: ReadReport | None = None,
) -> tuple[Launch, tuple[Series, ...]]:
    """Read the spool and put everything together; a traced launch's trace is saved as well.

    Args:
        request: What was asked.
        ended: How the process tree went.
        spool: The launch's spool folder; it may be gone.
        file: The program that was started.
        conditions: The machine around the launch.
        notes: What preparing it had to say.
        read_report: Finds what a worker reported, to the agent or in its log.

    """
    contents = _read(spool, ended)
    children = _children(request, ended, contents, file)
    data = _report(request, contents, read_report)
    said = [*notes, *ended.notes, *(one for one in contents.notes if not _says(one, data))]
    if not contents.processes:
        said.append(agentless.no_agent_note(children, ended.tree.main))
    launch = Launch(
        index=request.index,
        round=request.round,
        arm=request.arm.name,
        kind=request.kind,
        position=request.position,
        status=ended.status,
        exit_code=ended.exit_code,
        signal=ended.signal,
        ended_by=ended.ended_by,
        invalid=ended.why,
        started=ended.started,
        wall_ns=ended.wall_ns,
        until_ns=ended.until_ns,
        peak_rss=ended.peak_rss,
        processes=contents.processes,
        children=children,
        executions=contents.executions,
        conditions=conditions,
        sources=contents.sources,
        notes=tuple(said),
        log=log_path(request.index),
        tail=last_lines(request.folder / log_path(request.index)) if ended.why else (),
        data=data,
    )
    if request.kind == "traced" and contents.spools:
        launch = _with_trace(launch, request, ended, contents, spool)
    return launch, contents.series


def _read(folder: Path, ended: Ended) -> spool.Contents:
    ends = {
        member.pid: member.end_ns
        for member in ended.tree.members.values()
        if member.end_ns is not None and member.pid != ended.tree.main
    }
    return spool.read(
        folder,
        t0_ns=ended.t0,
        spawn_pid=ended.tree.main,
        end_ns=ended.t0 + ended.main_ns,
        ends=ends,
    )


def _children(
    request: Request, ended: Ended, contents: spool.Contents, file: str
) -> tuple[Child, ...]:
    agents = {process.pid for process in contents.processes}
    _identify_main(request, ended, file)
    seen = agentless.agentless(ended.tree.members.values(), agents, ended.t0)
    pids = {child.pid for child in seen}
    told = tuple(child for child in contents.children if child.pid not in pids)
    return tuple(sorted((*seen, *told), key=lambda child: child.start_ns))


def _identify_main(request: Request, ended: Ended, file: str) -> None:
    """Complete a main process that had ended before it could be looked at."""
    for member in ended.tree.members.values():
        if member.pid == ended.tree.main:
            member.end_ns = ended.t0 + ended.main_ns
            member.exit_code = ended.exit_code if ended.signal is None else -ended.signal
            if not member.executable:
                member.argv = request.arm.argv
                member.executable = os.path.realpath(find_python(file) or file)
                member.injected = True


def _report(
    request: Request, contents: spool.Contents, read_report: ReadReport | None
) -> dict[str, Any]:
    if read_report is None:
        return {}
    told = [note.text for note in contents.notes if note.code == DATA]
    try:
        with (request.folder / log_path(request.index)).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - REPORT_BYTES))
            return read_report(told, log.read().decode("utf-8", "replace"))
    except OSError:
        return {}


def _says(note: Note, data: dict[str, Any]) -> bool:
    """Tell whether a note is the report that the launch keeps as its data."""
    return bool(data) and note.code == DATA and json.loads(note.text) == data


def _with_trace(
    launch: Launch, request: Request, ended: Ended, contents: spool.Contents, folder: Path
) -> Launch:
    """Make and save the trace; what goes wrong in it costs the trace, not the launch."""
    place = request.folder / trace_path(request.index)
    try:
        made = trace.build(
            [list(records(path)) for path in contents.spools],
            launch=launch,
            folder=folder,
            t0_ns=ended.t0,
            children=launch.children,
            log=request.folder / launch.log,
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        trace.save(made, place)
    except OSError as error:
        note = Note(code="no_trace", text=f"the trace could not be saved: {error}")
        return msgspec.structs.replace(launch, notes=(*launch.notes, note))
    return msgspec.structs.replace(
        launch, trace=trace_path(request.index), sources=made.sources or launch.sources
    )
