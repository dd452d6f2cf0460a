"""The shape that every stored structure shares."""

from __future__ import annotations

from typing import Annotated

import msgspec
from typing_extensions import dataclass_transform

__all__ = ["Count", "Frozen"]

Count = Annotated[int, msgspec.Meta(ge=0)]
"""Nanoseconds, bytes or things: a file in which there are fewer than none is damaged."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Frozen(msgspec.Struct, frozen=True, omit_defaults=True):
    """An immutable record that reads and writes JSON; subclasses say ``kw_only=True``."""
