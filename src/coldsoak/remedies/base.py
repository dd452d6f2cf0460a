"""What a remedy is: a change, when it applies, and how to see that it took effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from coldsoak.model.causes import Cause
    from coldsoak.model.recipe import Numerics, Preheat, RemedyKind
    from coldsoak.model.result import Launch, Result

__all__ = ["Change", "Context", "Remedy", "Verified"]


@dataclass(frozen=True)
class Context:
    """What a remedy may look at."""

    diagnosis: Result
    """A finished result of the unchanged command, with traced launches and ledgers."""
    seconds: Mapping[Cause, float]
    """Time of each cause within the goal (time to first result, first region, or exit)."""
    environment: Mapping[str, str]
    """Of the command."""
    packages: Mapping[str, str]
    """Versions installed for the command's interpreter, by distribution name."""
    store: Path
    """A folder of this recipe's own, for caches and records that outlive the launch."""
    imported: frozenset[str] = frozenset()
    """Top-level packages that the command imports."""
    info: Mapping[str, str] = field(default_factory=dict)
    """Facts of the traced launches (``Trace.info``): CUDA variables at cuInit, library paths, forks."""
    gpu: bool = False
    """The command ran something on a GPU."""


@dataclass(frozen=True)
class Change:
    """How a remedy changes a launch."""

    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    preheat: Preheat | None = None
    prepare: tuple[str, ...] = ()
    """Command that is run once before the trial, e.g. ``python -m compileall``; empty for none."""
    fill: bool = False
    """The first launch with the change fills a cache and is not counted."""


@dataclass(frozen=True)
class Verified:
    """Whether a launch shows that the change took effect; None when it cannot be seen."""

    effect: bool | None
    proof: str


class Remedy(Protocol):
    """One entry of the catalogue; its docstring is the text that users read."""

    id: str
    kind: RemedyKind
    causes: frozenset[Cause]
    numerics: Numerics
    risks: tuple[str, ...]

    def applies(self, context: Context) -> str:
        """Return why it cannot help here, or an empty text when it applies."""

    def change(self, context: Context) -> Change:
        """Return the change; called only when it applies."""

    def verify(self, context: Context, launch: Launch) -> Verified:
        """Tell from a launch with the change whether it took effect."""
