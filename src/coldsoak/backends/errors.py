"""What can keep a bench case from running; each says what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.errors import ColdsoakError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DeviceMissing",
    "FrameworkMissing",
    "OutOfMemory",
    "Unsupported",
    "Unusable",
    "out_of_memory",
]


class FrameworkMissing(ColdsoakError):
    """The framework, or a package that its worker needs, is not installed."""

    def __init__(self, framework: str, module: str, install: str) -> None:
        super().__init__(
            f"{framework} cannot be measured: the module {module} is not installed here.",
            why="The worker imports it in the interpreter that is measured.",
            do=f"Type: {install} (or point --python to an interpreter that has it).",
        )


class DeviceMissing(ColdsoakError):
    """The framework does not see the device."""

    def __init__(self, framework: str, device: str, seen: Sequence[str]) -> None:
        super().__init__(
            f"{framework} sees no device {device!r}.",
            why=f"It sees {', '.join(seen) or 'none'}.",
            do="Choose one of these with --device; `coldsoak devices` tells why a card is not seen.",
        )


class Unsupported(ColdsoakError):
    """The framework has no such dtype, or no such way to execute."""

    def __init__(self, framework: str, what: str, value: str, known: Sequence[str]) -> None:
        super().__init__(
            f"{framework} cannot be measured with the {what} {value!r}.",
            do=f"Use --{what} {' or '.join(known)}.",
        )


class OutOfMemory(ColdsoakError):
    """The device, or the host, ran out of memory."""

    def __init__(self, case: str, detail: str) -> None:
        super().__init__(
            f"Out of memory: {case}.",
            why=detail,
            do="Use a smaller --shape, or free the memory (`coldsoak devices` lists its users).",
        )


class Unusable(ColdsoakError):
    """The framework is there, but does not work on this machine."""


_SIGNS = (
    "out of memory",
    "outofmemory",
    "resource_exhausted",
    "oom when",
    "bad_alloc",
    "t allocate memory",
)


def out_of_memory(error: BaseException) -> bool:
    """Return whether a framework's exception means that memory ran out.

    Frameworks have no common type for it, so that the type's name and the message decide.
    """
    if isinstance(error, MemoryError):
        return True
    text = f"{type(error).__name__} {error}".lower()
    return any(sign in text for sign in _SIGNS)
