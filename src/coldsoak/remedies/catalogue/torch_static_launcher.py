"""Inductor's kernels launched without a compiled launcher."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["StaticLauncher"]


class StaticLauncher(Setting):
    """Launch the Triton kernels of torch.compile without building a launcher for each signature.

    Triton builds a small C extension with the system's compiler for each signature of a kernel.
    `TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER=1` uses a launcher that is part of torch.
    """

    id = "torch.static_launcher"
    title = "no compiled launchers"
    causes = frozenset({Cause.COMPILE, Cause.CHILD_PROCESS})
    needs = ("torch", "triton")
    packages = ("torch",)
    on_gpu = True
    variables = (("TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER", "1"),)
