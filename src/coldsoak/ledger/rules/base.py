"""What a rule answers."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from coldsoak.model.causes import Cause

__all__ = ["CAUSES", "CODE", "Kind", "Verdict"]

CAUSES: tuple[Cause, ...] = tuple(Cause)
CODE: dict[Cause, int] = {cause: code for code, cause in enumerate(CAUSES)}
"""Number of a cause in the arrays of the sweep."""


class Kind(IntEnum):
    """How the sweep treats a span when other evidence speaks about the same instant."""

    NONE = 0
    """No span."""
    OPEN = 1
    """Says where, not what: host samples and waits refine it (imports, eager operations)."""
    BUILD = 2
    """A compiler or tracer works, perhaps on other threads or in children: waits are followed."""
    FIXED = 3
    """Names the cause by itself."""
    SYNC = 4
    """Waits for a device."""
    WAIT = 5
    """Waits for a lock, a timer, another thread or a child."""
    COST = 6
    """The tool itself."""


class Verdict(NamedTuple):
    """The cause that a span names and how firmly."""

    cause: Cause
    kind: Kind
