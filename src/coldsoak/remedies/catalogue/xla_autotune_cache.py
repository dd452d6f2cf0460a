"""XLA's choice of algorithms kept on disk."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.setting import Setting, by_causes, cache_files, with_flags

__all__ = ["AutotuneCache"]

FOLDER = "xla-autotune"


class AutotuneCache(Setting):
    """Keep which algorithm was the fastest for each matrix product and convolution.

    The search runs the candidates on the card; its outcome depends on the shapes, the card and the
    version of XLA. With `--xla_gpu_per_fusion_autotune_cache_dir` the next process takes what this
    one found. Results become more reproducible, not less: the choice no longer depends on timing.
    JAX's persistent cache switches this on by itself.
    """

    id = "xla.autotune_cache"
    title = "XLA's choice of algorithms kept"
    kind = "cache"
    causes = frozenset({Cause.ALGORITHM_SEARCH})
    needs = ("jax", "jaxlib", "tensorflow")
    packages = ("jax", "tensorflow")
    on_gpu = True

    def change(self, context: Context) -> Change:
        """Add the flag to those that are there."""
        flag = f"--xla_gpu_per_fusion_autotune_cache_dir={context.store / FOLDER}"
        flags = context.environment.get("XLA_FLAGS", "")
        return Change(env={"XLA_FLAGS": with_flags(flags, flag)}, fill=True)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Look for entries in the cache."""
        return cache_files(context.store / FOLDER, by_causes(self.causes, context, seen))
