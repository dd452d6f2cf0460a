"""Numba's cache where it can be written."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import CacheFolder

__all__ = ["NumbaCache"]


class NumbaCache(CacheFolder):
    """Give Numba a folder for the functions that are compiled with `cache=True`.

    Without `NUMBA_CACHE_DIR` the cache lies beside the source, which is often not writable in
    production, or is not kept. Functions without `cache=True` are compiled in every process: add it
    in the source.
    """

    id = "numba.cache_dir"
    title = "Numba's cache kept"
    causes = frozenset({Cause.COMPILE})
    risks = ("a function that depends on changed globals may be stale",)
    needs = ("numba",)
    packages = ("numba",)
    variable = "NUMBA_CACHE_DIR"
    folder = "numba"
