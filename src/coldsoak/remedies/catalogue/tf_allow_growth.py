"""TensorFlow without its memory pool reserved in advance."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["AllowGrowth"]


class AllowGrowth(Setting):
    """Do not let TensorFlow reserve nearly all of the card's memory at its start.

    `TF_FORCE_GPU_ALLOW_GROWTH=true` takes memory as it is needed. Other programs find free memory
    on the card then, and a program that allocates and frees a lot may fragment it.
    """

    id = "tf.allow_growth"
    title = "no memory reserved in advance"
    causes = frozenset({Cause.POOL_RESERVE, Cause.DEVICE_ALLOC})
    risks = ("memory may fragment; allocations during later runs take time of their own",)
    needs = ("tensorflow",)
    packages = ("tensorflow",)
    on_gpu = True
    variables = (("TF_FORCE_GPU_ALLOW_GROWTH", "true"),)
