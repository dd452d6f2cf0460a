"""What a check is, and what it says."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from coldsoak.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.machine.checks.subject import Subject

__all__ = ["GROUPS", "Check", "Group", "State", "Verdict", "text_of"]

State = Literal["bad", "warn", "unknown", "ok"]
"""``bad`` costs time in each process or spoils measurements; ``warn`` may."""

Group = Literal["machine", "graphics card", "interpreter", "caches", "environment", "tracing"]
GROUPS: tuple[Group, ...] = (
    "machine",
    "graphics card",
    "interpreter",
    "caches",
    "environment",
    "tracing",
)


class Verdict(Frozen, kw_only=True):
    """One thing that was found in order or not."""

    code: str
    state: State
    what: str
    """One line: what was seen, with figures."""
    why: str = ""
    """One line: what that does to a first run."""
    do: str = ""
    """A command to type or a setting to change."""


T = TypeVar("T")


class Check(Protocol[T]):
    """Reads, judges and explains; the docstring is the text for users, its first line the title."""

    code: str
    group: Group

    def read(self, subject: Subject) -> T:
        """Return what the machine says; the only part that touches anything."""

    def judge(self, seen: T) -> Iterable[Verdict]:
        """Return the verdicts on what was read."""


def text_of(check: Check[T]) -> str:
    """Return the explanation of a check."""
    return inspect.cleandoc(type(check).__doc__ or "")
