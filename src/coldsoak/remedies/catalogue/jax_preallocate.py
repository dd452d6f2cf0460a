"""JAX without its memory pool reserved in advance."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["NoPreallocation"]


class NoPreallocation(Setting):
    """Do not let JAX reserve three quarters of the card's memory at its start.

    Reserving it takes longer the larger the card is: more than a second for 100 GiB. With
    `XLA_PYTHON_CLIENT_PREALLOCATE=false` memory is taken as it is needed. Other programs find free
    memory on the card then, and a program that allocates and frees a lot may fragment it.
    """

    id = "jax.preallocate_off"
    title = "no memory reserved in advance"
    causes = frozenset({Cause.POOL_RESERVE, Cause.DEVICE_ALLOC})
    risks = ("memory may fragment; allocations during later runs take time of their own",)
    needs = ("jax", "jaxlib")
    packages = ("jax",)
    on_gpu = True
    variables = (("XLA_PYTHON_CLIENT_PREALLOCATE", "false"),)
