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

__all__ = ["Advice", "Change", "Context", "Entry", "Remedy", "Seen", "Verified"]


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
    """Facts of the traced launches (``Trace.info``): devices, library paths."""
    gpu: bool = False
    """The command ran something on a GPU."""
    site: str = ""
    """The site-packages folder of the command's interpreter; empty when it is not Python."""
    python: str = ""
    """Version of the command's interpreter."""
    devices: tuple[int, ...] = ()
    """Ordinals of the GPUs that did work."""
    cuda_environment: Mapping[str, str] | None = None
    """CUDA's variables as the program had them in the end; None when that was not seen."""
    forks: bool = False
    """The command forks without starting another program."""
    cores: float = 0.0
    """Cores that the command may use."""
    sessions: tuple[str, ...] = ()
    """What ONNX Runtime's sessions were made of, in the traced launches: ``providers=…, model=…``."""

    def at_stake(self, causes: frozenset[Cause]) -> float:
        """Return the seconds of ``causes`` within the goal."""
        return sum(self.seconds.get(cause, 0.0) for cause in causes)

    def version(self, *names: str) -> str:
        """Return the version of the first of the distributions ``names`` that is installed."""
        return next((self.packages[name] for name in names if name in self.packages), "")


@dataclass(frozen=True)
class Change:
    """How a remedy changes a launch."""

    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    preheat: Preheat | None = None
    fill: bool = False
    """The first launch with the change fills a cache and is not counted."""


@dataclass(frozen=True)
class Seen:
    """What there is to tell whether a change took effect."""

    launch: Launch
    """A timed launch with the change."""
    before: Launch
    """A timed launch without it."""
    traced: Launch | None = None
    """A traced launch with the change."""
    seconds: Mapping[Cause, float] = field(default_factory=dict)
    """Time of each cause within the goal, in that traced launch; empty without one."""


@dataclass(frozen=True)
class Verified:
    """Whether a launch shows that the change took effect; None when it cannot be seen."""

    effect: bool | None
    proof: str


class Entry(Protocol):
    """One entry of the catalogue; its docstring is the text that users read."""

    @property
    def id(self) -> str:
        """Its name: the package or part of the system, a dot, a word."""

    @property
    def title(self) -> str:
        """A few words for tables."""

    @property
    def kind(self) -> RemedyKind:
        """What it does with the work."""

    @property
    def causes(self) -> frozenset[Cause]:
        """Where the seconds are that it addresses."""


class Remedy(Entry, Protocol):
    """A change that ``fix`` can try."""

    @property
    def numerics(self) -> Numerics:
        """Whether results may change in their last digits or more."""

    @property
    def risks(self) -> tuple[str, ...]:
        """What the user should know before it goes into production."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Distributions that it depends on; the recipe is off with other versions of them."""

    @property
    def asked(self) -> bool:
        """Whether it is tried only when it is named, or with ``--folklore``."""

    @property
    def covers(self) -> tuple[str, ...]:
        """Ids of remedies that are part of this one."""

    def applies(self, context: Context) -> str:
        """Return why it cannot help here, or an empty text when it applies."""

    def prepare(self, context: Context) -> None:
        """Do once what the change needs; called only when it applies.

        Raises:
            ColdsoakError: It cannot be done, so the remedy is not tried.

        """

    def change(self, context: Context) -> Change:
        """Return the change; called only when it applies."""

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Tell from launches with the change whether it took effect."""


class Advice(Entry, Protocol):
    """Something that only the user can change."""

    def text(self, context: Context) -> str:
        """Return what to do, with the seconds at stake; empty when there is nothing to say."""
