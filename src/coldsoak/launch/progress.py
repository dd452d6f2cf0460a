"""What the session tells while it measures; the command line draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from coldsoak.launch.request import Request
    from coldsoak.model.result import Launch, Result

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """Events of a session, in order. An implementation must not raise."""

    def begin(self, result: Result) -> None:
        """Start: ``result`` has the arms and options, and no launch yet."""

    def launching(self, request: Request, *, done: int, expected: int, remaining_s: float) -> None:
        """Announce a launch.

        Args:
            request: What is about to run.
            done: Launches finished so far, of all kinds.
            expected: Launches expected in all, as far as it can be told now.
            remaining_s: Seconds until the end of the session, as far as it can be told now.

        """

    def launched(self, launch: Launch) -> None:
        """Report a finished launch, valid or not."""

    def waiting(self, why: str) -> None:
        """Say that the session waits between launches, e.g. for a card to cool down."""

    def end(self, result: Result) -> None:
        """Finish; ``result`` is what was saved last."""


class Silent:
    """Says nothing."""

    def begin(self, result: Result) -> None:
        """Do nothing."""

    def launching(self, request: Request, *, done: int, expected: int, remaining_s: float) -> None:
        """Do nothing."""

    def launched(self, launch: Launch) -> None:
        """Do nothing."""

    def waiting(self, why: str) -> None:
        """Do nothing."""

    def end(self, result: Result) -> None:
        """Do nothing."""
