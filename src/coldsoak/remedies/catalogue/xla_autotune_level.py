"""XLA without a search for the fastest algorithm."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.setting import Setting, with_flags

__all__ = ["NoAutotuning"]


class NoAutotuning(Setting):
    """Let XLA take its default algorithms instead of timing the candidates.

    For each matrix product XLA runs dozens of candidates on the card and takes the fastest. With
    `--xla_gpu_autotune_level=0` it takes the first. The first run is much shorter, later runs may be
    slower, and another algorithm may give other last digits.
    """

    id = "jax.autotune_level"
    title = "no search for algorithms"
    causes = frozenset({Cause.ALGORITHM_SEARCH})
    numerics = "may change"
    risks = ("later runs may be slower", "another algorithm may give other last digits")
    needs = ("jax", "jaxlib")
    packages = ("jax",)
    on_gpu = True

    def change(self, context: Context) -> Change:
        """Add the flag to those that are there."""
        flags = context.environment.get("XLA_FLAGS", "")
        return Change(env={"XLA_FLAGS": with_flags(flags, "--xla_gpu_autotune_level=0")})
