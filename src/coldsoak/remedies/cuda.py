"""CUDA's variables."""

from __future__ import annotations

__all__ = ["CUDA_VARIABLES"]

CUDA_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_CACHE_PATH",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "NVIDIA_TF32_OVERRIDE",
)
"""What the driver reads once, in cuInit; the agent has the same list (``preheat_cuda.VARIABLES``)."""
