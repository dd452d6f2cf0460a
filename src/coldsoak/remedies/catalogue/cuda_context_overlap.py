"""The CUDA context made while the program imports."""

from __future__ import annotations

from coldsoak.inject.coldsoak_agent.cuda import VARIABLES as CUDA_VARIABLES
from coldsoak.model.causes import Cause
from coldsoak.model.recipe import Preheat
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.evidence import stages
from coldsoak.remedies.setting import Setting

__all__ = ["ContextBesideImports", "device_of", "unfit", "verify_stage"]


class ContextBesideImports(Setting):
    """Initialise the driver and make the CUDA context on a thread while the program imports.

    The driver needs no Python for this, so it runs beside the imports of the framework, which then
    finds the context ready. Only the driver's own interface is called, only for the device that the
    program used when it was measured, and not at all where CUDA's variables have other values.
    """

    id = "cuda.context_overlap"
    title = "CUDA context beside the imports"
    kind = "overlap"
    causes = frozenset({Cause.DRIVER_INIT, Cause.CONTEXT_CREATE})
    risks = ("a start that ends before it needs CUDA holds a context for nothing",)
    on_gpu = True

    def applies(self, context: Context) -> str:
        """Want one that does not fork, and whose CUDA variables are set before its start."""
        return super().applies(context) or unfit(context)

    def change(self, context: Context) -> Change:
        """Ask for the stage."""
        return Change(preheat=Preheat(context=True, device=device_of(context)))

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Read when the context was ready."""
        return verify_stage("context", context, seen)


def unfit(context: Context) -> str:
    """Return why no context may be made early; empty when it may."""
    if context.forks:
        return "the command forks: a child of a process with a context cannot use CUDA"
    now = context.cuda_environment
    if now is None:
        return "the traced launches do not tell CUDA's variables (source cupti is off)"
    for name in CUDA_VARIABLES:
        if now.get(name) != context.environment.get(name):
            return f"the program changes {name} after its start"
    return ""


def device_of(context: Context) -> int:
    """Return the ordinal of the device that the recorded run used."""
    return min(context.devices, default=0)


def verify_stage(name: str, context: Context, seen: Seen) -> Verified:
    """Tell by what preheat reported about one of its stages."""
    found = next((stage for stage in stages(context, seen.launch) if stage.name == name), None)
    if found is None:
        return Verified(effect=False, proof="the stage did not report")
    if found.state != "done":
        return Verified(effect=False, proof=f"{found.state}: {found.text}")
    took = found.end_ms - found.begin_ms
    return Verified(
        effect=True, proof=f"ready {found.end_ms:.0f} ms after the start, took {took:.0f}"
    )
