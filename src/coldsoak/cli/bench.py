"""``coldsoak bench``."""

from __future__ import annotations


def bench() -> None:
    """Bench."""
