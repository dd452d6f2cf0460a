"""JAX without the version checks of its CUDA plug-in."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["SkipCudaChecks"]


class SkipCudaChecks(Setting):
    """Skip the checks of library versions that JAX's CUDA plug-in makes at its start.

    The plug-in asks cuDNN, cuFFT, cuBLAS, cuSPARSE, CUPTI and each device for their versions, which
    loads these libraries. `JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1` leaves the checks out. The versions
    were checked when the recipe was made, and the recipe is off with other ones.
    """

    id = "jax.skip_cuda_checks"
    title = "no version checks at the start"
    causes = frozenset({Cause.LIBRARY_LOAD, Cause.LIBRARY_HANDLE, Cause.FRAMEWORK_HOST})
    risks = ("a mismatch of libraries shows later, as an error or a crash",)
    needs = ("jax", "jaxlib")
    packages = ("jax",)
    on_gpu = True
    variables = (("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1"),)
