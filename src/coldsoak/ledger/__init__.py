"""Spans -> causes -> sums: where the time of a first run went.

:func:`attribute` is the whole of it; :mod:`coldsoak.ledger.taxonomy` has the page of each cause.
NumPy is imported when something is attributed, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.ledger import Ledger
    from coldsoak.model.result import Launch, Series
    from coldsoak.model.trace import Trace

__all__ = ["attribute"]


def attribute(trace: Trace, launch: Launch, *, series: Sequence[Series] = ()) -> tuple[Ledger, ...]:
    """Return the ledgers of a traced launch.

    One per series that ran (of ``series`` if given, else all of the launch), in the order of
    their first executions, then ``first result`` and ``launch``. Times are nanoseconds; in each
    ledger the lines and ``measurement_ns`` add up to ``total_ns`` exactly. A pure function: the
    same trace and launch give the same ledgers.
    """
    from coldsoak.ledger.attribution import attribute as run

    return run(trace, launch, series=series)
