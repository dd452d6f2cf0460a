"""The driver's cache of compiled PTX."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import CacheFolder

__all__ = ["ComputeCache"]


class ComputeCache(CacheFolder):
    """Keep the machine code that the driver compiled from PTX.

    The driver keeps it in the home folder, which containers often lack or lose, and which
    `CUDA_CACHE_DISABLE=1` switches off. With `CUDA_CACHE_PATH` on a disk that stays and room for
    4 GiB the next process finds it. Entries depend on the driver.
    """

    id = "cuda.compute_cache"
    title = "the driver's PTX cache kept"
    causes = frozenset({Cause.PTX_JIT})
    on_gpu = True
    variable = "CUDA_CACHE_PATH"
    folder = "cuda"
    variables = (("CUDA_CACHE_MAXSIZE", "4294967296"),)
    removed = ("CUDA_CACHE_DISABLE",)
