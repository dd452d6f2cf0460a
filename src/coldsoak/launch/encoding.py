"""Encodes structs of the model whatever texts they hold.

A command line, the name of a file and that of a thread are bytes, and need not be UTF-8. Python
holds what is none as half a surrogate pair, which no file format takes; it is written as U+FFFD.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from coldsoak.model.base import Frozen

__all__ = ["to_json", "to_msgpack"]

_HALF = re.compile("[\ud800-\udfff]")


def to_json(value: Frozen) -> bytes:
    """Return the JSON of ``value``."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_readable(msgspec.to_builtins(value)))


def to_msgpack(value: Frozen) -> bytes:
    """Return the msgpack of ``value``."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, builtin_types=(bytes,))
        return msgspec.msgpack.encode(_readable(plain))


def _readable(value: Any) -> Any:  # noqa: ANN401 (whatever a struct is made of)
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    return value
