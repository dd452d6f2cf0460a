"""The verdict on a span of any source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.ledger.rules import compilers, cuda, imports, waits
from coldsoak.ledger.rules.base import Kind, Verdict
from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["span_label", "verdict"]

_UNKNOWN = Verdict(Cause.UNATTRIBUTED, Kind.OPEN)


def verdict(source: str, name: str) -> Verdict:
    """Return cause and kind of a span; a source without rules stays ``unattributed`` and open."""
    if source in imports.SPANS:
        return imports.SPANS[source]
    if source in compilers.SOURCES:
        return compilers.verdict(source, name)
    rule = _BY_NAME.get(source)
    return rule(name) if rule else _UNKNOWN


def _sync(name: str) -> Verdict:
    orders_streams = "wait event" in name  # the host goes on
    return Verdict(Cause.KERNEL_LAUNCH, Kind.FIXED if orders_streams else Kind.SYNC)


_BY_NAME: dict[str, Callable[[str], Verdict]] = {
    "cuda.driver": cuda.api,
    "cuda.runtime": cuda.api,
    "cuda.sync": _sync,
    "cuda.overhead": cuda.overhead,
    "cuda.jit": cuda.jit,
    "wait": waits.verdict,
}


def span_label(source: str, name: str) -> str:
    """Return the short name of a span for evidence."""
    return cuda.api_name(name) if source.startswith("cuda.") else name
