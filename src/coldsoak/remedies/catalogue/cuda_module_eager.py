"""All kernels loaded at the start: the negative control."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["EagerLoading"]


class EagerLoading(Setting):
    """Load every kernel of every library at the start (`CUDA_MODULE_LOADING=EAGER`).

    This makes first runs slower. It is here to see the trials say so, and is never tried unless it
    is named.
    """

    id = "cuda.module_eager"
    title = "all kernels loaded at the start"
    kind = "shift"
    causes = frozenset({Cause.LAZY_KERNEL_LOAD, Cause.MODULE_LOAD})
    risks = ("seconds and gigabytes for kernels that never run",)
    asked = True
    on_gpu = True
    variables = (("CUDA_MODULE_LOADING", "EAGER"),)
