"""The frameworks that ``coldsoak bench`` can measure.

Standard library only until a backend is loaded: these modules also run inside the measured
interpreter. Other packages add frameworks through the entry-point group ``coldsoak.backends``
(name -> subclass of ``coldsoak.backends.base.Backend``).
"""

from __future__ import annotations

from coldsoak.backends.base import Backend, DeviceInfo, Runnable
from coldsoak.workloads.registry import Registry

__all__ = ["REGISTRY", "Backend", "DeviceInfo", "Runnable", "get", "installed", "names"]

REGISTRY: Registry[Backend] = Registry(
    "framework",
    "coldsoak.backends",
    {
        "tensorflow": "coldsoak.backends.tensorflow:Tensorflow",
        "torch": "coldsoak.backends.torch:Torch",
        "jax": "coldsoak.backends.jax:Jax",
        "cupy": "coldsoak.backends.cupy:Cupy",
        "onnxruntime": "coldsoak.backends.onnxruntime:Onnxruntime",
        "numpy": "coldsoak.backends.numpy:Numpy",
    },
)

names = REGISTRY.names
get = REGISTRY.get


def installed() -> tuple[str, ...]:
    """Return the frameworks that this interpreter could import; none is imported."""
    return tuple(name for name in names() if get(name).available())
