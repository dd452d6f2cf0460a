"""How the sources of evidence fared: in one process, and over all processes of a launch.

A source *lost* records in a launch if it did in any process. It was *off* if it gave up in one, or
was in none: it gives up where a framework turns out to be of an unknown version. Else it was *on*:
that a process left it to another one, which samples its descendants too, takes nothing away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from coldsoak.model.result import SourceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coldsoak.model import spool

__all__ = ["Fared", "last_word", "losing", "over_processes"]

_KNOWN = frozenset({"on", "off", "lost"})


@dataclass(frozen=True)
class Fared:
    """A source in one process."""

    state: SourceState
    gave_up: bool = False
    """It was on before it was off."""

    @property
    def rank(self) -> int:
        """0 for what says most against the source over the whole launch."""
        if self.state.state == "off":
            return 1 if self.gave_up else 3
        return 0 if self.state.state == "lost" else 2


def last_word(record: spool.Source, before: Fared | None) -> Fared:
    """Return how a source has fared in one process after ``record``.

    The last record of a name gives state and reason. Cost (ns) and lost records are the largest
    that any gave: both only grow, and not every record repeats them. A word of a newer agent counts
    as ``lost``: nothing says that the source saw everything.

    Args:
        record: What the source says now.
        before: What its earlier records came to in this process.

    """
    was = before.state if before else SourceState(name=record.name, state="off")
    lost = max(record.lost, was.lost)
    state: Any = record.state if record.state in _KNOWN else "lost"
    return Fared(
        SourceState(
            name=record.name,
            state="lost" if lost else state,
            reason=record.reason,
            cost_ns=max(record.cost_ns, was.cost_ns),
            lost=lost,
        ),
        gave_up=was.state == "on" or bool(before and before.gave_up),
    )


def losing(name: str, before: Fared | None, reason: str, lost: int = 0) -> Fared:
    """Return how a source has fared of which records are missing.

    Args:
        name: The source.
        before: What it said itself in this process.
        reason: Why; without one its own words stay.
        lost: How many, where that is known.

    """
    was = before.state if before else SourceState(name=name, state="on")
    return Fared(replace(was, state="lost", reason=reason or was.reason, lost=was.lost + lost))


def over_processes(said: Iterable[Mapping[str, Fared]]) -> tuple[SourceState, ...]:
    """Return one state for each source of a launch, by name.

    The reason is the first that a process in the resulting state gave: why a source was off in one
    process does not tell why it lost records in another. Costs and losses add up.

    Args:
        said: How the sources fared in each process, by name.

    """
    by_name: dict[str, list[Fared]] = {}
    for process in said:
        for one in process.values():
            by_name.setdefault(one.state.name, []).append(one)
    return tuple(_merged(found) for _, found in sorted(by_name.items()))


def _merged(found: list[Fared]) -> SourceState:
    rank = min(one.rank for one in found)
    decisive = [one.state for one in found if one.rank == rank]
    return SourceState(
        name=decisive[0].name,
        state=decisive[0].state,
        reason=next((state.reason for state in decisive if state.reason), ""),
        cost_ns=sum(one.state.cost_ns for one in found),
        lost=sum(one.state.lost for one in found),
    )
