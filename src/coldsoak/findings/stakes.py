"""What a cause costs, as the ledgers of the traced launches have it."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.words import plural, seconds_text, share_text

if TYPE_CHECKING:
    from coldsoak.findings.view import View
    from coldsoak.model.causes import Cause
    from coldsoak.model.ledger import Ledger

__all__ = ["LEAST_S", "LEAST_SHARE", "Stake", "command", "emptied", "fix", "stake", "worth"]

LEAST_S = 0.02
LEAST_SHARE = 0.02
"""A cause below both is not worth a sentence."""


@dataclass(frozen=True, kw_only=True)
class Stake:
    """Time of some causes in one stretch, over the traced launches of an arm."""

    seconds: float
    """Median over the launches."""
    least: float
    """In the launch that had least of it."""
    share: float
    """Of the stretch, in the median launch."""
    launches: int
    of: str
    """The stretch in words."""
    items: tuple[tuple[str, float, int], ...] = ()
    """(label, seconds, count) of the largest contributors, of the launch with most."""
    bytes: int = 0

    @property
    def text(self) -> str:
        """The figure as evidence: ``1.54 s, 39 % of the time to the first result``."""
        where = plural(self.launches, "traced launch", "traced launches")
        return f"{seconds_text(self.seconds)}, {share_text(self.share)} of {self.of} ({where})"

    def named(self, most: int = 3) -> str:
        """Return the largest contributors in one line; empty without any."""
        shown = (
            f"{label} {seconds_text(seconds)}" + (f" (×{count})" if count > 1 else "")
            for label, seconds, count in self.items[:most]
        )
        return ", ".join(shown)


def stake(view: View, arm: str, *causes: Cause, series: str = "") -> Stake | None:
    """Return what ``causes`` cost before the first result, or in run 0 of ``series``.

    None without a ledger. Without regions the whole launch is taken.
    """
    if series:
        found, of = view.ledgers(arm, "region", series), "the first run"
    else:
        found, of = view.ledgers(arm, "first result"), "the time to the first result"
        if not found:
            found, of = view.ledgers(arm, "launch"), "the launch"
    if not found:
        return None
    times = [_seconds(ledger, causes) for ledger in found]
    shares = [t * 1e9 / max(one.total_ns, 1) for t, one in zip(times, found, strict=True)]
    fullest = found[times.index(max(times))]
    lines = [line for line in fullest.lines if line.cause in causes]
    return Stake(
        seconds=median(times),
        least=min(times),
        share=median(shares),
        launches=len(found),
        of=of,
        items=_items(fullest, causes),
        bytes=sum(line.evidence.bytes for line in lines),
    )


def worth(found: Stake | None, *, least_s: float = LEAST_S, share: float = LEAST_SHARE) -> bool:
    """Tell whether every traced launch paid a time that is worth a sentence."""
    return found is not None and found.least >= least_s and found.share >= share


def _seconds(ledger: Ledger, causes: tuple[Cause, ...]) -> float:
    return sum(line.ns for line in ledger.lines if line.cause in causes) / 1e9


def _items(ledger: Ledger, causes: tuple[Cause, ...]) -> tuple[tuple[str, float, int], ...]:
    time: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for line in ledger.lines:
        if line.cause in causes:
            for item in line.evidence.items:
                time[item.label] += item.ns
                count[item.label] += item.count
    return tuple((label, ns / 1e9, count[label]) for label, ns in time.most_common(8))


def command(view: View) -> str:
    """Return the measured command as a shell takes it."""
    return shlex.join(view.result.command) or "COMMAND"


def fix(view: View, remedy: str) -> str:
    """Return the line that tries one remedy on the measured command; empty without a remedy."""
    if not remedy:
        return ""
    words = "python script.py" if view.result.kind == "bench" else command(view)
    return f"coldsoak fix --remedy {remedy} -- {words}"


def emptied(view: View, *colds: str) -> bool:
    """Tell whether the user asked for one of these cold states, which then is no finding."""
    return bool(set(colds) & set(view.result.options.cold))
