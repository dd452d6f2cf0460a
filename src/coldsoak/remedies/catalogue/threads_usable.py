"""As many compute threads as usable cores."""

from __future__ import annotations

import os

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.setting import Setting

__all__ = ["ThreadsForUsableCores"]


class ThreadsForUsableCores(Setting):
    """Start as many compute threads as there are cores to use.

    In a container with a limit of a few cores, libraries still start a thread for each core of the
    host. They wait for each other in turn. `OMP_NUM_THREADS` says how many there should be. With
    another number of threads sums may be added in another order.
    """

    id = "threads.usable_cores"
    title = "threads for the usable cores"
    causes = frozenset({Cause.THREAD_START, Cause.HOST_COMPUTE, Cause.RUN_QUEUE, Cause.LOCK_WAIT})
    numerics = "may change"
    risks = ("later runs may be slower", "sums may be added in another order")

    def applies(self, context: Context) -> str:
        """Want fewer usable cores than the libraries see."""
        if not context.cores or context.cores >= (os.cpu_count() or 1):
            return "every core can be used"
        return super().applies(context)

    def change(self, context: Context) -> Change:
        """Name the number of usable cores, rounded down, at least one."""
        number = str(max(1, int(context.cores)))
        return Change(env={"OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number})
