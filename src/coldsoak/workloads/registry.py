"""Names to classes: built in, or from an entry-point group; loaded when asked for."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from coldsoak.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes by name.

    Args:
        what: What is registered, for messages: ``workload``.
        group: The entry-point group in which other packages register theirs.
        built_in: Name to ``module:attribute``; plug-ins cannot replace these.

    """

    def __init__(self, what: str, group: str, built_in: Mapping[str, str]) -> None:
        self.what = what
        self.group = group
        self._built_in = built_in

    def names(self) -> tuple[str, ...]:
        """Return all names, the built-in ones first."""
        plugged = {entry.name for entry in self._entries()}
        return (*self._built_in, *sorted(plugged - set(self._built_in)))

    def get(self, name: str) -> type[T]:
        """Return the class registered under ``name``.

        Raises:
            UsageError: Nothing has that name.

        """
        if name in self._built_in:
            module, _, attribute = self._built_in[name].partition(":")
            built_in: type[T] = getattr(import_module(module), attribute)
            return built_in
        for entry in self._entries():
            if entry.name == name:
                plugged: type[T] = entry.load()
                return plugged
        raise UsageError(
            f"There is no {self.what} {name!r}.", do=f"Use one of {', '.join(self.names())}."
        )

    def _entries(self) -> Iterable[Any]:
        found: Any = metadata.entry_points()
        select = getattr(found, "select", None)  # a plain dict on Python 3.9
        entries: Iterable[Any] = select(group=self.group) if select else found.get(self.group, ())
        return entries
