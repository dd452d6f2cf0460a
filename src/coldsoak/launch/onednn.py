"""oneDNN's verbose lines: which primitives it created, and when.

oneDNN prints them on the program's standard output and nowhere else, so coldsoak never asks for
them by itself: the samples name its code generation by symbol without touching the output. A user
who sets ``ONEDNN_VERBOSE=profile_create`` gets them read from the launch's log.

    onednn_verbose,v1,1733000000000.12,primitive,create:cache_miss,cpu,matmul,…,0.76

Fields: marker, version (oneDNN 3.5 and later), start in ms of the system clock (with
``ONEDNN_VERBOSE_TIMESTAMP=1``), what, operation, engine, kind, implementation, …, duration in ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Primitive", "parse"]

_MARKERS = ("onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,")


@dataclass(frozen=True)
class Primitive:
    """One primitive that oneDNN created."""

    operation: str
    """``create:cache_miss``, ``create:cache_hit``, ``create:from_cache_blob``, …"""
    kind: str
    implementation: str
    start_ms: float
    """System clock; 0 where the line has no time stamp."""
    duration_ms: float
    problem: str = ""


def parse(lines: Iterable[str]) -> Iterator[Primitive]:
    """Yield the creations among a log's lines; all other lines are passed over."""
    for line in lines:
        if not line.startswith(_MARKERS):
            continue
        fields = line.strip().split(",")[1:]
        if fields and fields[0].startswith("v"):
            fields = fields[1:]
        start, fields = _time(fields)
        if fields and fields[0] == "primitive":
            fields = fields[1:]
        if len(fields) < 5 or not fields[0].startswith("create"):
            continue
        try:
            duration = float(fields[-1])
        except ValueError:
            continue
        operation, _, kind, implementation = fields[:4]
        yield Primitive(operation, kind, implementation, start, duration, fields[-2])


def _time(fields: list[str]) -> tuple[float, list[str]]:
    try:
        return float(fields[0]), fields[1:]
    except (IndexError, ValueError):
        return 0.0, fields
