"""The verdict on a span of any source."""

from __future__ import annotations

from coldsoak.ledger.rules import compilers, cuda, imports, waits
from coldsoak.ledger.rules.base import Kind, Verdict
from coldsoak.model.causes import Cause

__all__ = ["span_label", "verdict"]

_UNKNOWN = Verdict(Cause.UNATTRIBUTED, Kind.OPEN)


def verdict(source: str, name: str) -> Verdict:
    """Return cause and kind of a span; a source without rules stays ``unattributed`` and open."""
    if source in imports.SPANS:
        return imports.SPANS[source]
    if source in ("cuda.driver", "cuda.runtime"):
        return cuda.api(name)
    if source == "cuda.sync":
        if "wait event" in name:  # orders two streams; the host goes on
            return Verdict(Cause.KERNEL_LAUNCH, Kind.FIXED)
        return Verdict(Cause.KERNEL_LAUNCH, Kind.SYNC)
    if source == "cuda.overhead":
        return cuda.overhead(name)
    if source == "cuda.jit":
        return cuda.jit(name)
    if source in compilers.SOURCES:
        return compilers.verdict(source, name)
    if source == "wait":
        return waits.verdict(name)
    return _UNKNOWN


def span_label(source: str, name: str) -> str:
    """Return the short name of a span for evidence."""
    return cuda.api_name(name) if source.startswith("cuda.") else name
