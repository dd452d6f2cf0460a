"""What was seen in launches that do not count, for results in which none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from coldsoak.model.result import Note
from coldsoak.stats.summary import FAILURES, summarise

if TYPE_CHECKING:
    from coldsoak.model.result import Launch, Result, Summary

__all__ = ["salvaged"]


def salvaged(result: Result) -> Result:
    """Return ``result`` with figures of the timed launches that measured something.

    A program that fails in its first launch, or a session that is interrupted in it, has no launch
    that counts, yet has measured regions. They are shown, and named for what they are. A result
    with a launch that counts, or without any region, is returned as it is.
    """
    if result.kind != "run" or any(summary.n for summary in result.summaries):
        return result
    seen = [one for one in result.launches if one.kind == "timed" and one.executions]
    if not seen:
        return result
    whole = [one for one in seen if one.status == "ok" and not one.invalid]
    seen = whole[:1] or seen
    counted = [replace(one, status="ok", invalid="", round=max(1, one.round)) for one in seen]
    found = replace(result, launches=tuple(counted), notes=(*result.notes, _note(seen)))
    return replace(found, summaries=tuple(_marked(one, seen) for one in summarise(found)))


def _marked(summary: Summary, seen: list[Launch]) -> Summary:
    """Count the launches for what they are."""
    failed = sum(one.status in FAILURES for one in seen)
    return replace(summary, failed=failed, stopped_by="failure" if failed else "interrupted")


def _note(seen: list[Launch]) -> Note:
    if len(seen) > 1:
        what = "launches that failed or do not count"
    elif seen[0].status in FAILURES:
        what = "the launch that failed, up to its end"
    elif seen[0].status == "interrupted":
        what = "the launch that was interrupted, up to its end"
    else:
        what = "the first launch, which is discarded when others follow"
    return Note(code="salvaged", text=f"no launch counts; these figures are of {what}")
