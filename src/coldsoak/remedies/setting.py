"""What most remedies are: a few environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from coldsoak.findings.words import plural
from coldsoak.remedies.base import Change, Verified

if TYPE_CHECKING:
    from pathlib import Path

    from coldsoak.model.causes import Cause
    from coldsoak.model.recipe import Numerics, RemedyKind
    from coldsoak.remedies.base import Context, Seen

__all__ = ["CacheFolder", "Setting", "by_causes", "cache_files", "with_flags"]

GONE = 0.5
"""Share of the seconds at stake that must be gone from a traced launch to call it an effect."""


class Setting:
    """A remedy that sets or removes variables; subclasses fill in the class attributes.

    ``packages`` are the import names of which one must be imported by the command, ``on_gpu``
    says whether it must run something on a GPU, ``variables`` and ``removed`` are the change.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    kind: ClassVar[RemedyKind] = "avoid"
    causes: ClassVar[frozenset[Cause]] = frozenset()
    numerics: ClassVar[Numerics] = "unchanged"
    risks: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    asked: ClassVar[bool] = False
    covers: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[tuple[str, ...]] = ()
    on_gpu: ClassVar[bool] = False
    variables: ClassVar[tuple[tuple[str, str], ...]] = ()
    removed: ClassVar[tuple[str, ...]] = ()

    def applies(self, context: Context) -> str:
        """Ask for the packages, for the GPU, and that the variables are not set like this yet."""
        if self.packages and not context.imported & set(self.packages):
            return f"the command does not import {' or '.join(self.packages)}"
        if self.on_gpu and not context.gpu:
            return "the command runs nothing on a GPU"
        change = self.change(context)
        env = context.environment
        same = all(env.get(name) == value for name, value in change.env.items())
        if same and not any(name in env for name in change.unset) and change.preheat is None:
            return "it is set like this already"
        return ""

    def prepare(self, context: Context) -> None:
        """There is nothing to prepare."""

    def change(self, context: Context) -> Change:
        """Set ``variables`` and remove ``removed``."""
        del context
        return Change(env=dict(self.variables), unset=self.removed)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Compare the seconds of its causes in traced launches with and without the change."""
        return by_causes(self.causes, context, seen)


class CacheFolder(Setting):
    """A remedy that gives a framework a cache folder in the recipe's store.

    The first launch fills it; ``variable`` names the folder, ``variables`` go along.
    """

    kind: ClassVar[RemedyKind] = "cache"
    variable: ClassVar[str]
    folder: ClassVar[str]

    def change(self, context: Context) -> Change:
        """Move the cache to the store."""
        place = context.store / self.folder
        return Change(
            env={self.variable: str(place), **dict(self.variables)}, unset=self.removed, fill=True
        )

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Look for files in the cache that are older than the launch."""
        return cache_files(context.store / self.folder, by_causes(self.causes, context, seen))


def by_causes(causes: frozenset[Cause], context: Context, seen: Seen) -> Verified:
    """Tell by the seconds of ``causes`` in a traced launch, against the diagnosis."""
    before = context.at_stake(causes)
    if not seen.seconds or before <= 0:
        return Verified(effect=None, proof="no way to see it")
    after = sum(seen.seconds.get(cause, 0.0) for cause in causes)
    names = ", ".join(sorted(causes))
    proof = f"{names}: {before:.2f} s before, {after:.2f} s with it, traced"
    return Verified(effect=True if after < GONE * before else None, proof=proof)


def cache_files(folder: Path, rest: Verified) -> Verified:
    """Tell by the files in a cache: none means that nothing was cached."""
    files = [file for file in folder.rglob("*") if file.is_file()] if folder.is_dir() else []
    if not files:
        return Verified(effect=False, proof=f"nothing was written to {folder.name}")
    size = sum(file.stat().st_size for file in files)
    text = f"{plural(len(files), 'file')}, {size / 2**20:.1f} MiB in the cache"
    return Verified(effect=True, proof=text + (f"; {rest.proof}" if rest.effect else ""))


def with_flags(existing: str, *flags: str) -> str:
    """Return a variable of flags such as ``XLA_FLAGS`` with ``flags`` in place of those before."""
    names = {flag.partition("=")[0] for flag in flags}
    kept = [word for word in existing.split() if word.partition("=")[0] not in names]
    return " ".join([*kept, *flags])
