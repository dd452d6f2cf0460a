"""Something that the user should know."""

from __future__ import annotations

from typing import Literal

from coldsoak.model.base import Frozen

__all__ = ["Finding", "Severity"]

Severity = Literal["mistake", "warning", "cause", "note"]


class Finding(Frozen, kw_only=True):
    """A code, where, how sure, the evidence, and what to do."""

    code: str
    severity: Severity
    title: str = ""
    """One line; rules leave it to the registry, which takes that of their page."""
    text: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    """Commands to type or lines to write."""
    confidence: Literal["measured", "likely", "possible"] = "measured"
    settle: str = ""
    """What would settle it when it is not certain."""
    file: str = ""
    line: int = 0
    series: str = ""
    arm: str = ""
    seconds: float | None = None
    """What is at stake, in seconds."""
