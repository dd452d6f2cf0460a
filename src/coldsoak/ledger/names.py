"""Short names for people."""

from __future__ import annotations

import re

__all__ = ["short_kernel", "short_symbol"]

_SHOWN = 64
_NESTED = re.compile(r"^_Z(?:T[VIS])?Z*N?[KVRO]*(?:St)?")


def short_kernel(name: str) -> str:
    """Return a kernel's name without namespaces' mangling, template arguments and parameters."""
    return _cut(_demangle(name))


def short_symbol(library: str, symbol: str) -> str:
    """Return ``library: function`` for a host frame."""
    base = library.rsplit("/", 1)[-1]
    return _cut(f"{base}: {_demangle(symbol)}" if symbol else base)


def _demangle(name: str) -> str:
    """Read the nested identifiers at the front of an Itanium-mangled name; others stay."""
    if not name.startswith("_Z"):
        return re.sub(r"<.*", "", name.replace("void ", "", 1)) or name
    rest = _NESTED.sub("", name)
    parts = []
    while match := re.match(r"(\d+)", rest):
        size = int(match.group(1))
        part = rest[match.end() : match.end() + size]
        rest = rest[match.end() + size :]
        if not part.startswith(("_GLOBAL__N", "_INTERNAL")):
            parts.append(part)
    return "::".join(parts) or name


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
