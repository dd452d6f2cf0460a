"""The folders in which compilers and the driver keep their work."""

from __future__ import annotations

import getpass
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.machine.checks.base import Verdict
from coldsoak.machine.mounts import IN_MEMORY, file_system, mounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["KNOWN", "Caches", "Folder", "Known", "is_temporary"]

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "fuse.sshfs", "beegfs", "gpfs", "9p"}


@dataclass(frozen=True, kw_only=True)
class Known:
    """A cache, its variable, its place without it, and who uses it."""

    name: str
    variable: str
    default: str
    """``~`` is the home folder, ``$TMP`` the temporary folder; empty: off unless it is set."""
    users: tuple[str, ...]
    """Distributions; ``cuda`` means that there is a card."""


KNOWN = (
    Known(
        name="the driver's compute cache",
        variable="CUDA_CACHE_PATH",
        default="~/.nv/ComputeCache",
        users=("cuda",),
    ),
    Known(
        name="Triton's cache",
        variable="TRITON_CACHE_DIR",
        default="~/.triton/cache",
        users=("triton",),
    ),
    Known(
        name="the cache of torch.compile",
        variable="TORCHINDUCTOR_CACHE_DIR",
        default="$TMP/torchinductor_$USER",
        users=("torch",),
    ),
    Known(
        name="the folder of PyTorch's extensions",
        variable="TORCH_EXTENSIONS_DIR",
        default="~/.cache/torch_extensions",
        users=("torch",),
    ),
    Known(
        name="JAX's compilation cache",
        variable="JAX_COMPILATION_CACHE_DIR",
        default="",
        users=("jax",),
    ),
    Known(
        name="CuPy's kernel cache",
        variable="CUPY_CACHE_DIR",
        default="~/.cupy/kernel_cache",
        users=("cupy", "cupy-cuda12x", "cupy-cuda13x"),
    ),
    Known(name="Numba's cache", variable="NUMBA_CACHE_DIR", default="", users=("numba",)),
    Known(
        name="TensorFlow's kernel cache",
        variable="TF_JIT_CACHE_DIR",
        default="",
        users=("tensorflow",),
    ),
)
"""Caches that outlive a process. Places: documentation and sources of the releases of 2026."""

_WORTH_SETTING = {"JAX_COMPILATION_CACHE_DIR": "JAX compiles every program again in each process."}


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A cache folder as it is now."""

    cache: Known
    path: str
    """Empty when the cache is off."""
    exists: bool = False
    writable: bool = False
    kind: str = ""
    """Type of the file system."""
    temporary: bool = False
    entries: int = 0
    size: int = 0
    complete: bool = True


class Caches:
    """Cache folders: there, writable, lasting.

    A cache that cannot be written is silently left out by most frameworks, one in a temporary
    folder or in memory is gone after a restart, and one on a network file system can be slower than
    no cache when many processes write it at once. That a cache is configured says nothing about
    whether it is hit; `coldsoak run` sees that.
    """

    code = "cache"
    group: Group = "caches"

    def read(self, subject: Subject) -> tuple[Folder, ...]:
        """Look at the folder of each cache whose user is installed."""
        deadline = time.monotonic() + subject.seconds
        mounted = mounts(subject.root)
        card = bool(subject.cards.cards)
        return tuple(
            _folder(known, subject.environment, mounted, deadline)
            for known in KNOWN
            if subject.has(*known.users) or (card and "cuda" in known.users)
        )

    def judge(self, seen: tuple[Folder, ...]) -> Iterator[Verdict]:
        """Expect each to be writable and on a disk that stays."""
        for folder in seen:
            yield from _judge(folder)


def _judge(folder: Folder) -> Iterator[Verdict]:
    name, variable = folder.cache.name, folder.cache.variable
    title = name[:1].upper() + name[1:]
    if not folder.path:
        why = _WORTH_SETTING.get(variable, "")
        if why:
            do = f"export {variable}=$HOME/.cache/{variable.partition('_')[0].lower()}"
            yield Verdict(code="cache-off", state="warn", what=f"{title} is off.", why=why, do=do)
        return
    at = f"{title} is {folder.path}"
    if folder.writable:
        yield _judge_place(folder, at)
    else:
        yield Verdict(
            code="cache-unwritable",
            state="bad",
            what=f"{at}, which cannot be written.",
            why="Nothing is kept: each process compiles again.",
            do=f"export {variable}=$HOME/.cache/{variable.lower()}",
        )


def _judge_place(folder: Folder, at: str) -> Verdict:
    """Tell whether a cache that can be written stays; ``at`` is its name and path."""
    lasting = f"export {folder.cache.variable}=/a/disk/that/stays"
    if folder.temporary or folder.kind in IN_MEMORY:
        where = folder.kind if folder.kind in IN_MEMORY else "a temporary folder"
        return Verdict(
            code="cache-in-temporary-place",
            state="warn",
            what=f"{at}, {where}{_content(folder)}.",
            why="It is gone after a restart, and with the container.",
            do=lasting,
        )
    if folder.kind in _NETWORK:
        return Verdict(
            code="cache-on-network",
            state="warn",
            what=f"{at}, on {folder.kind}{_content(folder)}.",
            why="Processes that start together compile the same things and wait for each other.",
            do=lasting,
        )
    if folder.kind == "overlay":
        return Verdict(
            code="cache-in-container",
            state="warn",
            what=f"{at}, in the container's own layer{_content(folder)}.",
            why="It is gone with the container.",
            do=f"Mount a volume there: docker run -v cache:{folder.path}",
        )
    return Verdict(code="cache", state="ok", what=f"{at}{_content(folder)}.")


def _content(folder: Folder) -> str:
    if not folder.exists:
        return ", made at first use"
    least = "" if folder.complete else "at least "
    if not folder.entries:
        return ", empty"
    return f", {least}{folder.entries} files, {folder.size / 2**20:.1f} MiB"


def _folder(
    known: Known, environment: Mapping[str, str], mounted: list[tuple[str, str]], deadline: float
) -> Folder:
    path = _place(known, environment)
    if not path:
        return Folder(cache=known, path="")
    there = Path(path)
    above = there
    while not above.exists() and above != above.parent:
        above = above.parent
    entries, size, complete = _measure(there, deadline)
    return Folder(
        cache=known,
        path=path,
        exists=there.is_dir(),
        writable=above.is_dir() and os.access(above, os.W_OK | os.X_OK),
        kind=file_system(str(above), mounted),
        temporary=is_temporary(path, environment),
        entries=entries,
        size=size,
        complete=complete,
    )


def _place(known: Known, environment: Mapping[str, str]) -> str:
    chosen = environment.get(known.variable) or known.default
    temporary = environment.get("TMPDIR") or tempfile.gettempdir()
    home = environment.get("HOME") or str(Path.home())
    chosen = chosen.replace("$TMP", temporary).replace("$USER", _user())
    return home + chosen[1:] if chosen.startswith("~") else chosen


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def is_temporary(path: str, environment: Mapping[str, str]) -> bool:
    """Whether ``path`` lies in a folder that is emptied on its own."""
    places = {"/tmp", "/var/tmp", "/dev/shm", "/run", environment.get("TMPDIR", "")}  # noqa: S108
    full = os.path.realpath(path) + "/"
    return any(place and full.startswith(place.rstrip("/") + "/") for place in places)


def _measure(folder: Path, deadline: float) -> tuple[int, int, bool]:
    entries = size = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                size += Path(place, name).lstat().st_size
            except OSError:
                continue
            entries += 1
        if time.monotonic() > deadline:
            return entries, size, False
    return entries, size, True
