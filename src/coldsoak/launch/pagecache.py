"""Files out of the page cache, with proof.

``posix_fadvise(DONTNEED)`` asks the kernel to drop a file's clean pages; it may refuse without a
word (pages that another process has mapped, tmpfs, locked memory). ``mincore(2)`` tells what is
still there, so nothing is claimed that was not seen.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.errors import UsageError
from coldsoak.launch import proc
from coldsoak.machine.mounts import IN_MEMORY, file_system, mounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["RESIDENT_LIMIT", "Eviction", "drop", "evict", "resident_bytes", "resident_pages"]

RESIDENT_LIMIT = 0.05
"""Share of the files' bytes that may stay resident before the launch is refused."""

_ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Eviction:
    """What was in memory before and after, in bytes."""

    files: int
    total: int
    before: int
    after: int
    stuck: tuple[tuple[str, int], ...] = ()
    """The files with most bytes left, largest first."""

    @property
    def share(self) -> float:
        """Resident share of all bytes after the eviction."""
        return self.after / self.total if self.total else 0.0

    def text(self) -> str:
        """Describe the proof in one sentence."""
        mib = 1 << 20
        return (
            f"{self.files} files, {self.total / mib:.0f} MiB: {self.before / mib:.1f} MiB were in "
            f"memory before the eviction and {self.after / mib:.1f} MiB after it (mincore)"
        )


def resident_bytes(file: str) -> tuple[int, int]:
    """Return (bytes in memory, size) of a file, by mincore(2); (0, 0) when it cannot be read."""
    with _opened(file) as descriptor:
        return _resident(descriptor) if descriptor is not None else (0, 0)


def resident_pages(file: str) -> bytes:
    """Return one byte a page, 1 for those in memory, by mincore(2); empty for an unreadable file."""
    with _opened(file) as descriptor:
        return _pages(descriptor)[0] if descriptor is not None else b""


def drop(files: Iterable[str]) -> list[str]:
    """Ask the kernel to forget ``files``, without proof; return one name for each regular file."""
    names = _regular(files)
    for name in names:
        _drop(name, flush=False)
        if resident_bytes(name)[0]:
            _drop(name, flush=True)  # it may have been dirty; a flush of all would take minutes
    return names


def evict(files: Iterable[str]) -> Eviction:
    """Drop ``files`` from the page cache and prove it.

    Raises:
        UsageError: More than :data:`RESIDENT_LIMIT` of the bytes stayed in memory; names the
            files and what is known to hold them.

    """
    names = _regular(files)
    before, total = _sum(resident_bytes(name) for name in names)
    left = names
    for attempt in range(_ATTEMPTS):
        for name in left:
            _drop(name, flush=attempt > 0)
        sizes = {name: resident_bytes(name)[0] for name in left}
        left = [name for name, size in sizes.items() if size]
        if not left:
            break
    stuck = sorted(((name, sizes[name]) for name in left), key=lambda pair: -pair[1])
    result = Eviction(
        files=len(names),
        total=total,
        before=before,
        after=sum(size for _, size in stuck),
        stuck=tuple(stuck[:8]),
    )
    if result.share > RESIDENT_LIMIT:
        raise _refusal(result)
    return result


def _regular(files: Iterable[str]) -> list[str]:
    """One name for each file: links and copies by another name are the same pages."""
    seen: dict[tuple[int, int], str] = {}
    for name in files:
        try:
            state = os.stat(name)  # noqa: PTH116 - tens of thousands of files
        except OSError:
            continue
        if state.st_size and os.path.isfile(name):  # noqa: PTH113
            seen.setdefault((state.st_dev, state.st_ino), name)
    return list(seen.values())


def _sum(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    resident = total = 0
    for one, size in pairs:
        resident += one
        total += size
    return resident, total


@contextmanager
def _opened(file: str) -> Iterator[int | None]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _drop(file: str, *, flush: bool) -> None:
    with _opened(file) as descriptor:
        if descriptor is None:
            return
        if flush:
            os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _resident(descriptor: int) -> tuple[int, int]:
    pages, size = _pages(descriptor)
    return min(pages.count(1) * mmap.PAGESIZE, size), size


def _pages(descriptor: int) -> tuple[bytes, int]:
    """Return mincore's low bits, a byte a page, and the size; nothing where it does not tell."""
    size = os.fstat(descriptor).st_size
    if not size:
        return b"", 0
    libc = _libc()
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address in {None, ctypes.c_void_p(-1).value}:
        return b"", 0
    vector = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    try:
        if libc.mincore(address, size, vector) != 0:
            return b"", 0
    finally:
        libc.munmap(address, size)
    return vector.raw.translate(_LOW_BIT), size


_LOW_BIT = bytes(value & 1 for value in range(256))


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    libc.mmap.restype = pointer
    libc.mmap.argtypes = [pointer, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [pointer, size]
    libc.mincore.argtypes = [pointer, size, ctypes.c_char_p]
    return libc


def _refusal(result: Eviction) -> UsageError:
    held = _holders({name for name, _ in result.stuck})
    lines = [
        f"{name} ({size / (1 << 20):.1f} MiB, {held.get(name) or _reason(name)})"
        for name, size in result.stuck[:3]
    ]
    return UsageError(
        f"The disk-cold state cannot be made: {100 * result.share:.0f} % of the environment's files "
        f"stay in memory (limit {100 * RESIDENT_LIMIT:.0f} %).",
        why="; ".join(lines),
        do="end the programs that use these files, install coldsoak in an environment of its own "
        "(pipx install coldsoak), or use --cold cache",
    )


def _holders(files: set[str]) -> dict[str, str]:
    real = {os.path.realpath(name): name for name in files}
    held: dict[str, str] = {}
    for pid in proc.pids():
        for name in proc.mapped_files(pid) & real.keys():
            who = "coldsoak itself" if pid == os.getpid() else f"process {pid}"
            held.setdefault(real[name], f"mapped by {who}")
    return held


def _reason(file: str) -> str:
    if _hidden(file):
        return "owned by another user, and mincore(2) tells nothing about such files"
    kind = file_system(file, mounts())
    if kind in IN_MEMORY:
        return f"on {kind}, which lives in memory"
    return f"on {kind}; locked, dirty or in use" if kind else "locked, dirty or in use"


def _hidden(file: str) -> bool:
    """Since Linux 5.2 mincore reports files that the caller may not write as wholly resident."""
    return os.stat(file).st_uid != os.geteuid() and not os.access(file, os.W_OK)  # noqa: PTH116
