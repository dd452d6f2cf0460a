"""Variables that are often recommended and do nothing on current versions."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["BindNow", "FxGraphCache", "LazyLoading", "LoaderThreads"]


class BindNow(Setting):
    """Resolve all symbols when a library is loaded (`LD_BIND_NOW=1`).

    Python opens extensions like that anyway, so nothing should change.
    """

    id = "folklore.bind_now"
    title = "LD_BIND_NOW=1"
    causes = frozenset({Cause.LIBRARY_LOAD})
    asked = True
    variables = (("LD_BIND_NOW", "1"),)


class LoaderThreads(Setting):
    """Load device code with several threads (`CUDA_BINARY_LOADER_THREAD_COUNT=8`).

    With loading on first use there is little to load at once, so nothing should change.
    """

    id = "folklore.loader_threads"
    title = "several loader threads"
    causes = frozenset({Cause.MODULE_LOAD, Cause.LAZY_KERNEL_LOAD})
    asked = True
    on_gpu = True
    variables = (("CUDA_BINARY_LOADER_THREAD_COUNT", "8"),)


class FxGraphCache(Setting):
    """Switch Inductor's graph cache on (`TORCHINDUCTOR_FX_GRAPH_CACHE=1`).

    It has been on by default since torch 2.6, so nothing should change.
    """

    id = "folklore.fx_graph_cache"
    title = "TORCHINDUCTOR_FX_GRAPH_CACHE=1"
    causes = frozenset({Cause.COMPILE, Cause.CACHE_LOOKUP})
    needs = ("torch",)
    asked = True
    packages = ("torch",)
    variables = (("TORCHINDUCTOR_FX_GRAPH_CACHE", "1"),)


class LazyLoading(Setting):
    """Load kernels on first use (`CUDA_MODULE_LOADING=LAZY`).

    It has been the default since CUDA 12.2, so nothing should change.
    """

    id = "folklore.module_lazy"
    title = "CUDA_MODULE_LOADING=LAZY"
    causes = frozenset({Cause.MODULE_LOAD, Cause.LAZY_KERNEL_LOAD})
    asked = True
    on_gpu = True
    variables = (("CUDA_MODULE_LOADING", "LAZY"),)
