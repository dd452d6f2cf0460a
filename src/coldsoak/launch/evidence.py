"""How the sources of evidence fared: in one process, and over all processes of a launch.

A source is *on* for a launch if at least one process had it and no process lost records of it: one
that samples covers its descendants, who say that they leave it to it. It *lost* records if any
process did. Else it was *off*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coldsoak.model.result import SourceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coldsoak.model import spool

__all__ = ["last_word", "over_processes"]

_KNOWN = frozenset({"on", "off", "lost"})
_RANK = {"lost": 0, "on": 1, "off": 2}


def last_word(record: spool.Source, before: SourceState | None) -> SourceState:
    """Return the state of a source in one process after ``record``.

    The last record of a name gives state and reason. Cost (ns) and lost records are the largest
    that any gave: both only grow, and not every record repeats them. A word of a newer agent counts
    as ``lost``: nothing says that the source saw everything.

    Args:
        record: What the source says now.
        before: What its earlier records came to in this process.

    """
    lost = max(record.lost, before.lost if before else 0)
    state: Any = record.state if record.state in _KNOWN else "lost"
    return SourceState(
        name=record.name,
        state="lost" if lost else state,
        reason=record.reason,
        cost_ns=max(record.cost_ns, before.cost_ns if before else 0),
        lost=lost,
    )


def over_processes(said: Iterable[Mapping[str, SourceState]]) -> tuple[SourceState, ...]:
    """Return one state for each source of a launch, by name.

    The reason is the first that a process in the resulting state gave: why a source was off in one
    process does not tell why it lost records in another. Costs and losses add up.

    Args:
        said: The states in each process, by source.

    """
    by_name: dict[str, list[SourceState]] = {}
    for states in said:
        for state in states.values():
            by_name.setdefault(state.name, []).append(state)
    return tuple(_merged(states) for _, states in sorted(by_name.items()))


def _merged(states: list[SourceState]) -> SourceState:
    state = min((one.state for one in states), key=_RANK.__getitem__)
    return SourceState(
        name=states[0].name,
        state=state,
        reason=next((one.reason for one in states if one.state == state and one.reason), ""),
        cost_ns=sum(one.cost_ns for one in states),
        lost=sum(one.lost for one in states),
    )
