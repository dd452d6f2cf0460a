"""``coldsoak devices``."""

from __future__ import annotations


def devices() -> None:
    """List the devices."""
