"""A compile cache is on and does not help

A cache folder says nothing about hits. JAX asks its cache for every program, and by default keeps
only those that took a second or more to compile, so small programs are never there. Keys that
change from process to process have the same effect.

It is decided from what the traced launches did, not from settings: programs were looked up, fewer
than half were found, and earlier launches had the chance to fill the cache. It stays silent with
`--cold cache`, which empties it.

For JAX, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 keeps small programs too;
JAX_EXPLAIN_CACHE_MISSES=1 says why a key is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.cachehits import Lookups, lookups
from coldsoak.findings.stakes import emptied, fix
from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "cache-configured-but-missed"
SEVERITY: Severity = "cause"

_REMEDY = {"jax": "jax.cache_thresholds", "torch": "torch.caches_on_disk"}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm and cache with more misses than hits."""
    if emptied(view, "cache"):
        return
    for arm in view.result.arms:
        for seen in lookups(view, arm.name):
            kept = seen.cache == "jax" and seen.hits and not seen.writes
            late = kept and _thresholds_set(view, arm.name)
            if seen.misses > seen.hits and seen.earlier and not late:
                yield _finding(view, arm.name, seen)


def _thresholds_set(view: View, arm: str) -> bool:
    """Tell whether small programs are kept; what is missed then was asked before the cache was on."""
    name = "persistent_cache_min_compile_time_secs"
    return name.upper() in " ".join(view.env(arm)) or any(name in one.text for one in view.files)


def _finding(view: View, arm: str, seen: Lookups) -> Finding:
    small = seen.cache == "jax" and not seen.writes
    why = (
        "nothing was written either: programs that compile in less than the threshold (1 s) are "
        "not kept"
        if small
        else f"{plural(seen.writes, 'program')} written, so their keys are new in each process"
        if seen.writes
        else "what an earlier process made was not found"
    )
    first = ("export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0",) if small else ()
    if seen.cache == "jax" and not small:
        first = ("export JAX_EXPLAIN_CACHE_MISSES=1",)
    remedy = _REMEDY.get(seen.cache)
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=(
            f"{seen.name} was asked for {plural(seen.hits + seen.misses, 'program')} and had "
            f"{seen.hits} of them; compiling took {seconds_text(seen.compile_s)}."
        ),
        evidence=(f"In the traced launch: {why}.",),
        advice=(*first, fix(view, remedy)) if remedy else first,
        arm=arm,
        seconds=seen.compile_s,
    )
