"""From a finished diagnosis to what remedies may look at."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from coldsoak.launch.command import find_python, resolve
from coldsoak.launch.trace import load_trace
from coldsoak.model.causes import GROUPS, Cause
from coldsoak.model.trace import unpack
from coldsoak.remedies import interpreter
from coldsoak.remedies.base import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from coldsoak.model.result import Launch, Result
    from coldsoak.model.trace import Trace
    from coldsoak.remedies.goals import Goal

__all__ = ["CUDA_NOTE", "context_of"]

CUDA_NOTE = "cuda_environment"
"""Key under which the agent notes CUDA's variables at the end of a traced process."""

SESSION = "create_session"
"""What the agent calls the span in which ONNX Runtime makes a session."""
_DEVICE_CAUSES = frozenset((*GROUPS["driver"], Cause.DEVICE_COMPUTE))


def context_of(
    diagnosis: Result, folder: Path, goal: Goal, store: Path
) -> tuple[Context, interpreter.Interpreter]:
    """Return the context of the remedies for a finished diagnosis.

    Args:
        diagnosis: Of the unchanged command; its first arm counts.
        folder: Where its traces lie.
        goal: What is to become faster.
        store: Folder for caches and records.

    """
    arm = diagnosis.arms[0]
    environment = _environment(arm.env)
    file = resolve(arm.argv, cwd=arm.cwd, path=environment.get("PATH"))
    python = find_python(file)
    asked = interpreter.ask(python, environment, arm.cwd) if python else interpreter.Interpreter()
    launches = [one for one in diagnosis.launches if one.arm == arm.name]
    plain = Context(
        diagnosis=diagnosis,
        seconds=goal.seconds(diagnosis, arm.name),
        environment=environment,
        packages=asked.packages,
        store=store,
        imported=frozenset(_imported(launches)),
        site=asked.site,
        python=asked.python,
        cuda_environment=_cuda_environment(launches),
        forks=any(process.how == "fork" for one in launches for process in one.processes),
        cores=diagnosis.machine.cores_usable,
    )
    info, devices, sessions = _traced(launches, folder)
    device_seconds = sum(
        line.ns for led in diagnosis.ledgers for line in led.lines if line.cause in _DEVICE_CAUSES
    )
    on_gpu = bool(devices) or device_seconds > 0
    return replace(plain, info=info, devices=devices, gpu=on_gpu, sessions=sessions), asked


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("COLDSOAK_")}
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def _imported(launches: Iterable[Launch]) -> set[str]:
    return {
        cost.package for one in launches for process in one.processes for cost in process.imports
    }


def _traced(
    launches: Iterable[Launch], folder: Path
) -> tuple[dict[str, str], tuple[int, ...], tuple[str, ...]]:
    """Return the facts of the traces, the devices that did work, and the sessions that were made."""
    info: dict[str, str] = {}
    devices: set[int] = set()
    sessions: list[str] = []
    for launch in launches:
        if launch.trace and (folder / launch.trace).is_file():
            trace = load_trace(folder / launch.trace)
            info |= trace.info
            devices.update(unpack(trace.device.device))
            sessions += _sessions(trace)
    return info, tuple(sorted(devices)), tuple(dict.fromkeys(sessions))


def _sessions(trace: Trace) -> list[str]:
    if SESSION not in trace.strings:
        return []
    wanted = trace.strings.index(SESSION)
    rows = zip(unpack(trace.spans.name), unpack(trace.spans.detail), strict=True)
    return [trace.strings[detail] for name, detail in rows if name == wanted and detail >= 0]


def _cuda_environment(launches: Iterable[Launch]) -> dict[str, str] | None:
    for launch in launches:
        for note in launch.notes:
            if note.code == "data" and CUDA_NOTE in note.text:
                told = json.loads(note.text)[CUDA_NOTE]
                return {str(name): str(value) for name, value in told.items()}
    return None
