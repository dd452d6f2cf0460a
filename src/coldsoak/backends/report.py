"""How a worker tells what it did: to the agent where there is one, else in a line of its log."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FORMAT", "MARKER", "emit", "find_report", "parse_report"]

FORMAT = 1
MARKER = "COLDSOAK-REPORT "
"""Starts the line. Frameworks write to the same log, so that it may follow other text."""


def emit(report: dict[str, Any]) -> None:
    """Print ``report`` on a line of its own."""
    sys.stderr.flush()
    sys.stdout.write(f"\n{MARKER}{json.dumps({'format': FORMAT, **report})}\n")
    sys.stdout.flush()


def find_report(told: Sequence[str], log: str) -> dict[str, Any]:
    """Return the report of a launch, as :func:`parse_report` does.

    Args:
        told: What programs and sources handed to the agent as ``data``, each a JSON object.
        log: The launch's output, for a worker without an agent.

    """
    for text in reversed(told):
        found = json.loads(text)
        if "framework" in found:
            return dict(found)
    return parse_report(log)


def parse_report(log: str) -> dict[str, Any]:
    """Return the last report in the text of a log; empty when there is none or it is cut off.

    Keys of a finished case: ``checksum`` (root mean square of the output), ``outputs`` (mean, rms,
    first, edge, last), ``runs``, ``location`` (device that holds the output), ``device``, ``framework``,
    ``compiler``, ``versions``, ``precision``, ``shape``, ``first_s``, ``seconds`` and
    ``ready_seconds`` (per run) and ``steps_s`` (load, open, place, build). Several shapes in one
    process are listed in ``cases``. A failed worker has ``error`` (kind, what, why, do) instead.
    """
    position = log.rfind(MARKER)
    while position >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(log, position + len(MARKER))
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        position = log.rfind(MARKER, 0, position)
    return {}
