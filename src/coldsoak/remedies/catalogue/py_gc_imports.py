"""No garbage collection while heavy packages are imported."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.model.recipe import Preheat
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.evidence import gc_seconds, stages
from coldsoak.remedies.setting import Setting

__all__ = ["NoCollectionDuringImports", "heavy_packages"]

HEAVY_NS = 100_000_000
"""Imports that take less together are not worth a stage."""
MOST = 8


class NoCollectionDuringImports(Setting):
    """Switch the garbage collector off while heavy packages are imported, then freeze and go on.

    Importing a framework makes hundreds of thousands of objects that live as long as the process.
    Python's collector walks over them again and again while there is nothing to collect. With this
    stage it is off during these imports; afterwards the objects are frozen (`gc.freeze`), so that
    later collections skip them too, and the collector is on again.
    """

    id = "py.gc_imports"
    title = "no garbage collection during imports"
    causes = frozenset({Cause.PYTHON_GC})
    risks = ("cyclic garbage made by the imports themselves stays in memory",)

    def applies(self, context: Context) -> str:
        """Want a package whose import is long enough to hold several collections."""
        if not context.python:
            return "the command is not a Python program"
        if not heavy_packages(context):
            return "no import takes 0.1 s"
        return ""

    def change(self, context: Context) -> Change:
        """Name the packages to the stage."""
        return Change(preheat=Preheat(gc=heavy_packages(context)))

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Look for the stage's report, and compare the time in the collector."""
        done = [stage for stage in stages(context, seen.launch) if stage.name == "gc"]
        if not done or done[0].state != "done":
            return Verified(effect=False, proof="the stage did not run")
        before, after = gc_seconds(seen.before), gc_seconds(seen.launch)
        return Verified(
            effect=after < before,
            proof=f"collections during imports: {before:.2f} s, now {after:.2f} s",
        )


def heavy_packages(context: Context) -> tuple[str, ...]:
    """Return the packages whose imports take longest in the diagnosis, dearest first."""
    longest: dict[str, int] = {}
    for launch in context.diagnosis.launches:
        for process in launch.processes[:1]:
            for cost in process.imports:
                name = cost.package
                longest[name] = max(longest.get(name, 0), cost.cumulative_ns)
    ranked = sorted(longest, key=lambda name: -longest[name])
    return tuple(name for name in ranked[:MOST] if longest[name] >= HEAVY_NS)
