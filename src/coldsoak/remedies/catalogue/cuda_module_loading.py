"""Kernels loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

if TYPE_CHECKING:
    from coldsoak.remedies.base import Context

__all__ = ["NoEagerLoading"]


class NoEagerLoading(Setting):
    """Remove `CUDA_MODULE_LOADING=EAGER`, which loads every kernel of every library at the start.

    Loading on first use has been the default since CUDA 12.2. Some images still set the variable,
    and pay seconds and memory for kernels that never run.
    """

    id = "cuda.module_loading"
    title = "kernels loaded on first use"
    causes = frozenset({Cause.MODULE_LOAD, Cause.LAZY_KERNEL_LOAD, Cause.CONTEXT_CREATE})
    risks = ("the first launch of each kernel loads it then",)
    on_gpu = True
    removed = ("CUDA_MODULE_LOADING",)

    def applies(self, context: Context) -> str:
        """Want the variable to be set to EAGER."""
        if context.environment.get("CUDA_MODULE_LOADING", "").upper() != "EAGER":
            return "kernels are loaded on first use already"
        return super().applies(context)
