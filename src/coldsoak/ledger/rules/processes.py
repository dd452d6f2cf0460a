"""Child processes: how they are named, and which of them a thread can be waiting for."""

from __future__ import annotations

import os

__all__ = ["BUSY_SHARE", "ENDS_WITHIN_NS", "label"]

ENDS_WITHIN_NS = 5_000_000
"""A wait that ends this soon after a child's exit was for that child."""
BUSY_SHARE = 0.2
"""A child that used this share of a CPU over its life worked for its parent; a pool idles."""

_SHOWN = 60


def label(argv: tuple[str, ...], pid: int) -> str:
    """Return a child's command as people know it: program and arguments, without folders."""
    if not argv:
        return f"process {pid}"
    words = [os.path.basename(w) or w for w in argv if "\n" not in w]  # noqa: PTH119
    text = " ".join(words)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
