"""Which remedies are tried, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from coldsoak.remedies.base import Context, Remedy

__all__ = ["Candidate", "rank"]

LEAST_S = 0.005
LEAST_SHARE = 0.01
"""At stake must be more than both: 5 ms and one per cent of the goal."""


class Candidate(NamedTuple):
    """A remedy, what it could save at the most, and why it is left out if it is."""

    remedy: Remedy
    at_stake_s: float
    left_out: str = ""


def rank(
    context: Context,
    remedies: Sequence[Remedy],
    *,
    named: Collection[str] = (),
    excluded: Collection[str] = (),
    folklore: bool = False,
) -> list[Candidate]:
    """Return all ``remedies``: those to try first, by the seconds at stake; then those left out.

    Args:
        context: Of the command.
        remedies: The catalogue.
        named: Ids that the user asked for: only these are tried, whatever is at stake.
        excluded: Ids that the user does not want.
        folklore: Try those as well that are known to do nothing on current versions.

    """
    total = sum(context.seconds.values())
    found = [
        Candidate(remedy, context.at_stake(remedy.causes), _why_not(remedy, context, total))
        for remedy in remedies
        if not (named and remedy.id not in named)
    ]
    found = [
        one._replace(left_out=_by_request(one, named=named, excluded=excluded, folklore=folklore))
        for one in found
    ]
    return sorted(found, key=lambda one: (bool(one.left_out), -one.at_stake_s))


def _why_not(remedy: Remedy, context: Context, total: float) -> str:
    why = remedy.applies(context)
    if why:
        return why
    stake = context.at_stake(remedy.causes)
    if remedy.causes and context.seconds and stake < max(LEAST_S, LEAST_SHARE * total):
        return f"{_NOTHING} ({1000 * stake:.0f} ms)"
    return ""


_NOTHING = "next to nothing is at stake"


def _by_request(
    one: Candidate, *, named: Collection[str], excluded: Collection[str], folklore: bool
) -> str:
    if one.remedy.id in excluded:
        return "excluded"
    if one.remedy.id in named:
        return "" if one.left_out.startswith(_NOTHING) else one.left_out
    if one.left_out:
        return one.left_out
    if one.remedy.asked and not folklore:
        return "tried only when it is named, or with --folklore"
    return ""
