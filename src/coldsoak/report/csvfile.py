"""Every single observation as comma-separated values."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from coldsoak.report.select import case_of, label_of, series_by_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.model.result import Execution, Launch, Result

__all__ = ["HEADER", "csv_text"]

HEADER = (
    "arm",
    "launch",
    "round",
    "kind",
    "status",
    "invalid",
    "wall_s",
    "series",
    "region",
    "case",
    "run",
    "rerun",
    "pid",
    "start_s",
    "region_s",
    "clock_s",
    "ready_s",
)
"""Columns; times in seconds, ``start_s`` since the launch was spawned."""


def csv_text(result: Result) -> str:
    """Return a row for each execution of a region; a launch without any gets one of its own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(_rows(result))
    return out.getvalue()


def _rows(result: Result) -> Iterator[tuple[object, ...]]:
    known = series_by_id(result)
    for launch in result.launches:
        head = _head(launch)
        if not launch.executions:
            yield (*head, *[""] * (len(HEADER) - len(head)))
        for run in launch.executions:
            series = known.get(run.series)
            names = (label_of(series), case_of(series)) if series else ("", "")
            yield (*head, run.series, *names, *_figures(run))


def _head(launch: Launch) -> tuple[object, ...]:
    return (
        launch.arm,
        launch.index,
        launch.round,
        launch.kind,
        launch.status,
        launch.invalid,
        launch.wall_ns / 1e9,
    )


def _figures(run: Execution) -> tuple[object, ...]:
    ready = "" if run.ready_ns is None else (run.ready_ns - run.start_ns) / 1e9
    return run.run, run.rerun, run.pid, run.start_ns / 1e9, run.wall, run.seconds, ready
