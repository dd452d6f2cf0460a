"""CuPy's kernels kept on disk."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import CacheFolder

__all__ = ["CupyCache"]


class CupyCache(CacheFolder):
    """Keep the kernels that CuPy compiled with NVRTC.

    The cache lies in the home folder, which containers often lack or lose, and
    `CUPY_CACHE_IN_MEMORY=1` switches it off. With `CUPY_CACHE_DIR` on a disk that stays the next
    process finds them.
    """

    id = "cupy.cache_dir"
    title = "CuPy's kernels kept"
    causes = frozenset({Cause.COMPILE})
    packages = ("cupy",)
    on_gpu = True
    variable = "CUPY_CACHE_DIR"
    folder = "cupy"
    removed = ("CUPY_CACHE_IN_MEMORY",)
