"""The shape of a page about a cause."""

from __future__ import annotations

from dataclasses import dataclass

from coldsoak.model.causes import Cause, group_of

__all__ = ["Page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What ``coldsoak explain CODE`` and ``docs/causes.md`` say about a cause."""

    cause: Cause
    title: str
    """One line, no full stop."""
    what: str
    """What happens, and how people meet it."""
    scales: str
    """What it grows with."""
    evidence: str
    """What must be seen for time to be booked here."""
    remedies: tuple[tuple[str, str], ...] = ()
    """(id of the catalogue or empty, what to do); measured on the user's machine by ``fix``."""
    traps: str = ""
    """What goes wrong with the obvious fix."""

    @property
    def group(self) -> str:
        """Return the part of the stack, a key of :data:`coldsoak.model.causes.GROUPS`."""
        return group_of(self.cause)

    def markdown(self) -> str:
        """Return the page as Markdown, headed by its code."""
        lines = [f"## `{self.cause.value}`: {self.title}", "", self.what, ""]
        lines += [f"**Grows with** {self.scales}", "", f"**Counted when** {self.evidence}", ""]
        if self.remedies:
            lines += ["**Remedies**", ""]
            lines += [f"- {self._remedy(code, text)}" for code, text in self.remedies]
            lines += [""]
        if self.traps:
            lines += [f"**Beware** {self.traps}", ""]
        return "\n".join(lines)

    @staticmethod
    def _remedy(code: str, text: str) -> str:
        return f"`{code}`: {text}" if code else text
