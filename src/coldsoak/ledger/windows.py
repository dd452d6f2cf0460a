"""Which stretches of which threads get a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from coldsoak.ledger.device import Run
from coldsoak.stats.series import by_series, first_ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.result import Execution, Launch, Series
    from coldsoak.model.trace import Trace

__all__ = ["LONG", "Window", "runs_of", "span_of", "windows_of"]

LONG = 20
"""From this many runs on the steady start is found by change point; below, the later half."""


@dataclass(frozen=True, slots=True)
class Window:
    """One ledger to make: run 0 and the steady runs, each ``(pid, thread, start_ns, end_ns)``."""

    scope: Literal["region", "first result", "launch"]
    first: tuple[int, int, int, int]
    steady: tuple[tuple[int, int, int, int], ...] = ()
    series: str = ""


def windows_of(trace: Trace, launch: Launch, series: Sequence[Series]) -> list[Window]:
    """Return the windows of a launch: series by first execution, first result, launch."""
    runs = _from_first(launch)
    wanted = [s.id for s in series if s.id in runs] or list(runs)
    wanted.sort(key=lambda name: (runs[name][0].start_ns, name))
    windows = [
        Window(
            "region",
            _place(runs[name][0]),
            tuple(_place(e) for e in _steady(runs[name])),
            name,
        )
        for name in wanted
    ]
    pid, tid = _main(trace, launch)
    first = first_ended(launch)
    if first is not None:
        done = max(first.end_ns, first.ready_ns or 0, 0)
        windows.append(Window("first result", (pid, tid, 0, done), series=first.series))
    windows.append(Window("launch", (pid, tid, 0, launch.wall_ns)))
    return windows


def span_of(launch: Launch) -> tuple[int, int]:
    """Return the stretch that holds every window of a launch, whichever series are asked for."""
    moments = [0, launch.wall_ns]
    for execution in launch.executions:
        moments += [execution.start_ns, execution.end_ns, execution.ready_ns or 0]
    return min(moments), max(moments)


def runs_of(launch: Launch) -> list[Run]:
    """Return first and later windows of each series, for telling kernels that never come back."""
    found = []
    for executions in _from_first(launch).values():
        first = executions[0]
        later = tuple((e.start_ns, e.end_ns) for e in executions[1:] if e.pid == first.pid)
        found.append(Run(first.pid, (first.start_ns, first.end_ns), later))
    return found


def _from_first(launch: Launch) -> dict[str, list[Execution]]:
    """Return the executions of each series of which run 0 was seen."""
    return {name: runs for name, runs in by_series(launch).items() if runs[0].run == 0}


def _steady(runs: list[Execution]) -> list[Execution]:
    """Return the runs that stand for the steady state of this launch."""
    if len(runs) < 4:
        return runs[1:]
    if len(runs) >= LONG:
        start = _change_point([max(run.wall, 0.0) for run in runs])
        if start is not None and 1 <= start < len(runs):
            return runs[start:]
    return runs[max(1, len(runs) // 2) :]


def _change_point(seconds: list[float]) -> int | None:
    from coldsoak.stats.steady import detect

    return detect(seconds).start


def _place(execution: Execution) -> tuple[int, int, int, int]:
    end = max(execution.end_ns, execution.start_ns)
    return execution.pid, execution.thread, execution.start_ns, end


def _main(trace: Trace, launch: Launch) -> tuple[int, int]:
    """Return process and thread of the launch's main thread."""
    if launch.processes:
        pid = launch.processes[0].pid
    elif trace.processes:
        pid = min(trace.processes, key=lambda p: (p.start_ns, p.pid)).pid
    else:
        pid = min(((not track.main, track.pid) for track in trace.tracks), default=(True, 0))[1]
    return pid, next((t.tid for t in trace.tracks if t.pid == pid and t.main), pid)
