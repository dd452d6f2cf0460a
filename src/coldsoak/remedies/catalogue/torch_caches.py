"""torch.compile's caches where they outlive the process."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.setting import CacheFolder

__all__ = ["TorchCaches"]


class TorchCaches(CacheFolder):
    """Keep the code that torch.compile and Triton generated in a folder that outlives the container.

    By default it lies under the temporary directory, which a container or a reboot empties. With
    `TORCHINDUCTOR_CACHE_DIR` and `TRITON_CACHE_DIR` on a disk that stays, the next process finds
    graphs, kernels and launchers again. On a machine where the temporary directory stays, there is
    nothing to gain: `coldsoak fix --cold cache` compares with the state of a fresh container.
    """

    id = "torch.caches_on_disk"
    title = "torch.compile's caches kept"
    causes = frozenset({Cause.COMPILE, Cause.CHILD_PROCESS, Cause.TRACE, Cause.ALGORITHM_SEARCH})
    risks = ("cache entries are code: the folder must not be writable by others",)
    needs = ("torch", "triton")
    packages = ("torch",)
    variable = "TORCHINDUCTOR_CACHE_DIR"
    folder = "inductor"

    def applies(self, context: Context) -> str:
        """Want a program that compiles with Inductor or Triton."""
        compiled = context.imported & {"triton"} or context.at_stake(frozenset({Cause.COMPILE}))
        return super().applies(context) if compiled else "nothing is compiled"

    def change(self, context: Context) -> Change:
        """Move both caches to the store."""
        change = super().change(context)
        return Change(
            env={**change.env, "TRITON_CACHE_DIR": str(context.store / "triton")}, fill=True
        )
