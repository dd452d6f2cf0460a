"""Triton's autotuning results kept on disk."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.setting import CacheFolder

__all__ = ["TritonAutotuneCache"]


class TritonAutotuneCache(CacheFolder):
    """Keep which configuration of each autotuned Triton kernel was the fastest.

    `TRITON_CACHE_AUTOTUNING=1` writes the outcome of `@triton.autotune` beside the compiled kernels.
    A configuration that was chosen under other load may be another one than a fresh search would
    choose, and with it the last digits.
    """

    id = "triton.autotune_cache"
    title = "Triton's tuning results kept"
    causes = frozenset({Cause.ALGORITHM_SEARCH, Cause.COMPILE})
    numerics = "may change"
    risks = ("the choice of the first run is kept, good or bad",)
    needs = ("triton",)
    packages = ("triton",)
    on_gpu = True
    variable = "TRITON_CACHE_DIR"
    folder = "triton"

    def change(self, context: Context) -> Change:
        """Keep the cache in the store and switch the writing of results on."""
        change = super().change(context)
        return Change(env={**change.env, "TRITON_CACHE_AUTOTUNING": "1"}, fill=True)
