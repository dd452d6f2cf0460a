"""JAX's persistent compilation cache, small programs included."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import CacheFolder

__all__ = ["JaxCache"]


class JaxCache(CacheFolder):
    """Keep what XLA compiled for JAX, whatever its size and however quick it was to compile.

    `JAX_COMPILATION_CACHE_DIR` alone keeps only what took a second or more to compile: for many
    programs that is nothing. With the thresholds at zero every compilation is found again in the
    next process. Entries depend on the versions of jaxlib, the driver and the device.
    """

    id = "jax.cache_thresholds"
    title = "JAX's cache, thresholds 0"
    causes = frozenset({Cause.COMPILE, Cause.ALGORITHM_SEARCH})
    risks = ("cache entries are code: the folder must not be writable by others",)
    needs = ("jax", "jaxlib")
    covers = ("xla.autotune_cache",)
    packages = ("jax",)
    variable = "JAX_COMPILATION_CACHE_DIR"
    folder = "jax"
    variables = (
        ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"),
        ("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"),
    )
