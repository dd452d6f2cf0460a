"""What ``coldsoak bench`` computes: sizes, inputs, flops, bytes, and when results agree.

Standard library only, as these modules also run inside the measured interpreter. Other packages
add workloads through the entry-point group ``coldsoak.workloads`` (name -> subclass of Workload).
"""

from __future__ import annotations

from coldsoak.workloads.base import Workload, agree
from coldsoak.workloads.pattern import DTYPES, Tensor
from coldsoak.workloads.registry import Registry

__all__ = ["DTYPES", "REGISTRY", "Tensor", "Workload", "agree", "get", "names"]

REGISTRY: Registry[Workload] = Registry(
    "workload",
    "coldsoak.workloads",
    {
        "matmul": "coldsoak.workloads.matmul:Matmul",
        "conv2d": "coldsoak.workloads.conv2d:Conv2d",
        "elementwise": "coldsoak.workloads.elementwise:Elementwise",
        "mlp": "coldsoak.workloads.mlp:Mlp",
        "attention": "coldsoak.workloads.attention:Attention",
    },
)

names = REGISTRY.names
get = REGISTRY.get
