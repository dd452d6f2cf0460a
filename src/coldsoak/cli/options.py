"""Options that more than one command takes, and their way into ``model.Options``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coldsoak.model.result import Options

__all__ = [
    "Budget",
    "Cold",
    "Force",
    "Json",
    "Launches",
    "NoTrace",
    "Perfetto",
    "SourceOff",
    "Target",
    "Timeout",
    "Until",
    "to_options",
]

Launches = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Fresh processes to measure; else until the interval is narrow."
    ),
]
Budget = Annotated[
    float, typer.Option(metavar="SECONDS", help="Time in which launches have to fit.")
]
Target = Annotated[
    float, typer.Option(metavar="SHARE", help="Half-width of the interval at which to stop.")
]
Timeout = Annotated[
    float, typer.Option(metavar="SECONDS", help="Time after which a launch that goes on is ended.")
]
Until = Annotated[
    str,
    typer.Option(
        metavar="END", help="exit, region:NAME[:K], port:P, http:URL or log:REGEX ends a launch."
    ),
]
Cold = Annotated[
    str,
    typer.Option(
        metavar="LEVEL[,…]",
        help="What is cold: process, cache (empty compile caches), disk, bytecode.",
    ),
]
NoTrace = Annotated[
    bool, typer.Option("--no-trace", help="Leave out the traced launches, and so the causes.")
]
SourceOff = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Switch a source of evidence off. Repeatable."),
]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result here as well.")]
Perfetto = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the first traced launch for Perfetto.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


def _check(name: str, value: float, *, low: float, high: float = float("inf")) -> None:
    from coldsoak.errors import UsageError

    if not low <= value <= high:
        raise UsageError(
            f"--{name} {value:g} is out of range.",
            do=f"--{name} takes {low:g} or more" + f", up to {high:g}" * (high < 1e9),
        )


def to_options(
    *,
    launches: int | None,
    budget: float,
    timeout: float,
    cold: str,
    target: float,
    no_trace: bool,
    source_off: list[str] | None,
    until: str = "exit",
    rerun: int = 1,
    tf1: bool = False,
) -> Options:
    """Return the options of the model for those of the command line.

    Raises:
        UsageError: A number is out of range, or a level of coldness or a source is unknown.

    """
    from coldsoak.errors import UsageError
    from coldsoak.launch.coldness import parse_cold
    from coldsoak.launch.executor import installed_sources
    from coldsoak.model.result import Options

    _check("budget", budget, low=0.0)
    _check("timeout", timeout, low=0.1)
    _check("target", target, low=0.001, high=1.0)
    unknown = sorted(set(source_off or ()) - set(installed_sources()))
    if unknown:
        raise UsageError(
            f"There is no source named {', '.join(unknown)}.",
            do=f"--source-off {', '.join(installed_sources()[:-1])} or {installed_sources()[-1]}",
        )
    return Options(
        launches=launches,
        budget_s=budget,
        timeout_s=timeout,
        cold=parse_cold(cold),
        until=until,
        rerun=rerun,
        tf1=tf1,
        trace=not no_trace,
        target=target,
        sources_off=tuple(source_off or ()),
    )
