"""Child processes: how they are named, and which of them a thread can be waiting for."""

from __future__ import annotations

import os
import re

__all__ = ["BUSY_SHARE", "ENDS_WITHIN_NS", "label"]

ENDS_WITHIN_NS = 5_000_000
"""A wait that ends this soon after a child's exit was for that child."""
BUSY_SHARE = 0.2
"""A child that used this share of a CPU over its life worked for its parent; a pool idles."""

_SHOWN = 60
_TEMPORARY = re.compile(r"\btemp(file|orary)?-[\w-]{8,}|\btmp\w{6,}|[0-9a-f]{16,}")
"""Names made up anew in each launch; without them, the runs of one compiler are one item."""


def label(argv: tuple[str, ...], pid: int) -> str:
    """Return a child's command as people know it: without folders and temporary names."""
    if not argv:
        return f"process {pid}"
    words = [os.path.basename(w) or w for w in argv if "\n" not in w]  # noqa: PTH119
    text = _TEMPORARY.sub("…", " ".join(words))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
