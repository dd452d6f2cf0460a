"""Several processes compile the same thing at once

Processes that start together look into the same empty cache, find nothing, and all compile the same
programs: ranks of a distributed job, workers of a server. Most caches have no lock for each key, so
the work and the waiting grow with the number of processes, and a shared cache on a network can be
slower than none.

It fires when at least two processes of one traced launch missed the same key.

Fill the cache with one process before the others start, or give each node a copy of a filled one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.cachehits import jax_cache_on
from coldsoak.findings.words import plural
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "cache-stampede"
SEVERITY: Severity = "cause"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm whose processes compile the same keys."""
    for arm in view.result.arms:
        facts = [one.shared_misses for one in view.facts(arm.name) if one.shared_misses]
        if not facts or ("jax" in view.packages(arm.name) and not jax_cache_on(view, arm.name)):
            continue
        missed = facts[-1]
        compilations, programs, most = sum(missed.values()), len(missed), max(missed.values())
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"{plural(compilations, 'compilation')} of {plural(programs, 'program')}: up to "
                f"{most} processes missed the same key of the cache in one launch."
            ),
            evidence=tuple(
                f"{count} processes missed {key[:60]}" for key, count in list(missed.items())[:2]
            ),
            advice=("Let one process fill the cache before the others start.",),
            arm=arm.name,
        )
