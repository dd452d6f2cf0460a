"""A call of what is timed, before the clock starts: advice, because the program must be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.words import seconds_text
from coldsoak.model.causes import Cause
from coldsoak.stats.summary import lead

if TYPE_CHECKING:
    from coldsoak.model.recipe import RemedyKind
    from coldsoak.remedies.base import Context

__all__ = ["WarmUpCall"]

LEAST_SHARE = 0.1
LEAST_S = 0.01
"""Of run 0 that must be paid once for the advice to be given; both."""


class WarmUpCall:
    """Call what is timed once, before the clock starts.

    A call with the same shapes on the same device pays what a process pays once. The time moves and
    does not go away: the first result comes no earlier, unless the call runs beside something else.
    In a server it belongs before the first request. Each new shape may need a call of its own.
    """

    id = "region.warm_up"
    title = "a call before the clock starts"
    kind: RemedyKind = "shift"
    causes = frozenset({
        Cause.ALGORITHM_SEARCH,
        Cause.COMPILE,
        Cause.LAZY_KERNEL_LOAD,
        Cause.LIBRARY_HANDLE,
        Cause.MODULE_LOAD,
        Cause.PLAN_BUILD,
        Cause.THREAD_START,
        Cause.TRACE,
    })  # fmt: skip

    def text(self, context: Context) -> str:
        """Name the region, what moves, and the case that the call must have."""
        diagnosis = context.diagnosis
        best = lead(row for summary in diagnosis.summaries[:1] for row in summary.series)
        series = next((one for one in diagnosis.series if best and one.id == best.series), None)
        if best is None or series is None or best.overhead is None:
            return ""
        paid = best.overhead.point
        if paid < max(LEAST_S, LEAST_SHARE * best.first.point):
            return ""
        case = ", ".join(f"{name}={value}" for name, value in series.case.items())
        same = f"with {case}" if case else "with the same shapes"
        return (
            f"One call of what {series.label} times, {same}, before its clock starts moves up to "
            f"{seconds_text(paid)} out of the first run of {seconds_text(best.first.point)}. The first "
            "result comes no earlier."
        )
