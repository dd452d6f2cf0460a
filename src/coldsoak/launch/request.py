"""What the session asks of an executor, and the executor that replays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from coldsoak.model.result import Arm, Launch, LaunchKind, Options, Series

__all__ = ["Executor", "LaunchInterrupted", "RecordedExecutor", "Request"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One launch that the session wants.

    ``folder`` is the result's folder: the launch's log and trace are written below it.
    """

    arm: Arm
    kind: LaunchKind
    round: int
    index: int
    position: int
    options: Options
    folder: Path


class LaunchInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM during a launch; ``launch`` holds what it had shown until then."""

    def __init__(self, launch: Launch) -> None:
        super().__init__("the launch was interrupted")
        self.launch = launch


class Executor(Protocol):
    """Turns requests into launches; the session knows nothing of processes."""

    @property
    def series(self) -> tuple[Series, ...]:
        """Every series seen so far, over all launches."""

    def check(self, arms: Sequence[Arm], options: Options) -> None:
        """Raise ``UsageError`` for what can be known to fail before any launch."""

    def launch(self, request: Request) -> Launch:
        """Run one launch to its end; raises ``LaunchInterrupted`` on Ctrl-C."""


@dataclass
class RecordedExecutor:
    """Plays launches back in the order given: whole sessions are tested without a process.

    Args:
        launches: What to return; index, round, arm, kind and position are set from the request.
        known: The series to report.
        on_launch: Called with each request before it is answered, for clocks of tests.

    ``requests`` keeps what was asked. An exception among ``launches`` is raised in its place.
    Raises ``IndexError`` when more launches are asked for than were given.

    """

    launches: Iterable[Launch | BaseException]
    known: tuple[Series, ...] = ()
    on_launch: Callable[[Request], None] | None = None
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next = iter(self.launches)

    @property
    def series(self) -> tuple[Series, ...]:
        """The series given."""
        return self.known

    def check(self, arms: Sequence[Arm], options: Options) -> None:
        """Accept everything."""

    def launch(self, request: Request) -> Launch:
        """Return the next recorded launch under the request's name."""
        self.requests.append(request)
        if self.on_launch is not None:
            self.on_launch(request)
        answer = next(self._next, None)
        if answer is None:
            raise IndexError(f"launch {request.index} was asked for, but no more were recorded")
        if isinstance(answer, BaseException):
            raise answer
        return replace(
            answer,
            index=request.index,
            round=request.round,
            arm=request.arm.name,
            kind=request.kind,
            position=request.position,
        )
