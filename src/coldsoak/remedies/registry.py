"""The list of remedies."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from coldsoak.errors import UsageError
from coldsoak.remedies.catalogue.jax_cache import JaxCache
from coldsoak.remedies.catalogue.placebo import Placebo
from coldsoak.remedies.catalogue.py_gc_imports import NoCollectionDuringImports
from coldsoak.remedies.catalogue.py_pyc import KeepBytecode
from coldsoak.remedies.catalogue.torch_caches import TorchCaches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.remedies.base import Advice, Remedy

__all__ = ["ADVICE", "PLACEBO", "REMEDIES", "find"]

REMEDIES: tuple[Remedy, ...] = (
    KeepBytecode(),
    NoCollectionDuringImports(),
    JaxCache(),
    TorchCaches(),
)
"""Every remedy that can be tried, in the order of the documentation."""

PLACEBO: Remedy = Placebo()
"""The arm that is in every trial."""

ADVICE: tuple[Advice, ...] = ()
"""What only the user can change."""


def find(names: Sequence[str]) -> list[Remedy]:
    """Return the remedies called ``names``.

    Raises:
        UsageError: There is no such remedy; says which one is near.

    """
    known = {remedy.id: remedy for remedy in REMEDIES}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            raise UsageError(
                f"There is no remedy {name}.",
                do=" or ".join(near) if near else f"one of: {', '.join(known)}",
            )
    return [known[name] for name in names]
