"""One line of progress on a terminal; now and then a line in a log file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from coldsoak.report.numbers import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.progress import Progress as Bar

    from coldsoak.launch.request import Request
    from coldsoak.model.result import Launch, Result

__all__ = ["LiveProgress", "LogProgress", "progress_on"]

LOG_EVERY_S = 5.0
"""Shortest time between two lines in a log file."""


def progress_on(console: Console, *, quiet: bool = False) -> LogProgress | LiveProgress:
    """Return what suits ``console``; ``quiet`` leaves the terminal to the command's own output."""
    return LogProgress(console) if quiet or not console.is_terminal else LiveProgress(console)


def first_run(launch: Launch) -> str:
    """Say what a launch gave: its first run 0, else its wall time, else how it failed."""
    if launch.invalid:
        return f"left out: {launch.invalid}"
    if launch.status != "ok":
        return launch.status
    first = next((e for e in launch.executions if e.run == 0), None)
    return f"run 0 {duration(first.wall)}" if first else f"exit {duration(launch.wall_ns / 1e9)}"


def _name(request: Request, arms: int) -> str:
    kind = "discarded" if request.round == 0 else request.kind
    return f"{kind} launch of {request.arm.name}" if arms > 1 else f"{kind} launch"


class LiveProgress:
    """A bar with launch kind, number, latest run 0 and remaining time; gone when done."""

    def __init__(self, console: Console) -> None:
        self.last: Result | None = None
        """What was saved last, once the session has ended, by an error too."""
        self._console = console
        self._bar: Bar | None = None
        self._arms = 1
        self._latest = ""

    def begin(self, result: Result) -> None:
        """Draw the empty bar."""
        from rich.progress import BarColumn, Progress, TextColumn

        self._arms = len(result.arms)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[latest]}"),
            TextColumn("{task.fields[remaining]}", style="dim"),
            console=self._console,
            transient=True,
            auto_refresh=False,  # a thread that draws would disturb what is measured
        )
        self._bar.add_task("starting", total=1, latest="", remaining="")
        self._bar.start()

    def launching(self, request: Request, *, done: int, expected: int, remaining_s: float) -> None:
        """Say which launch runs now."""
        self._update(
            description=_name(request, self._arms),
            completed=done,
            total=max(expected, done + 1),
            latest=self._latest,
            remaining=f"{remaining_s:.0f} s left" if remaining_s > 0 else "",
        )

    def launched(self, launch: Launch) -> None:
        """Show its run 0."""
        self._latest = first_run(launch)
        self._update(latest=self._latest)

    def waiting(self, why: str) -> None:
        """Say what is waited for."""
        self._update(description=why)

    def end(self, result: Result) -> None:
        """Clear the line."""
        self.last = result
        if self._bar is not None:
            self._bar.stop()

    def _update(self, **fields: object) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.tasks[0].id, refresh=True, **fields)  # type: ignore[arg-type]


class LogProgress:
    """A plain line for a launch, at most one every few seconds.

    Args:
        console: Where to write.
        clock: Monotonic seconds; a test gives its own.

    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.last: Result | None = None
        """What was saved last, once the session has ended, by an error too."""
        self._console = console
        self._clock = clock
        self._said = float("-inf")
        self._head = ""
        self._arms = 1

    def begin(self, result: Result) -> None:
        """Note how many arms there are."""
        self._arms = len(result.arms)

    def launching(self, request: Request, *, done: int, expected: int, remaining_s: float) -> None:
        """Note which launch runs now."""
        self._head = f"{_name(request, self._arms)} {done + 1} of {max(expected, done + 1)}"
        if remaining_s > 0:
            self._head += f", {remaining_s:.0f} s left"

    def launched(self, launch: Launch) -> None:
        """Write the line when the last one is some seconds old, or the launch failed."""
        now = self._clock()
        if now - self._said >= LOG_EVERY_S or launch.status != "ok":
            self._said = now
            self._say(f"{self._head}: {first_run(launch)}")

    def waiting(self, why: str) -> None:
        """Say what is waited for."""
        self._say(why)

    def end(self, result: Result) -> None:
        """Keep the result."""
        self.last = result

    def _say(self, text: str) -> None:
        self._console.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)
