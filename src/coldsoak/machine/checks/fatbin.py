"""Which device code a shared library brings, read from its ELF file.

nvcc puts device code into the sections ``.nv_fatbin`` and ``__nv_relfatbin``: containers (magic
0xBA55ED50) of entries, each with a kind (1 PTX, 2 machine code) and an architecture (90 for sm_90).
Only headers are read, so a library of two gigabytes takes milliseconds. Layout: compared with a
CUDA 12.4 library; 64 bytes of an entry's header have been the same since CUDA 9.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DeviceCode", "device_code"]

_SECTIONS = {b".nv_fatbin", b"__nv_relfatbin"}
_MAGIC = 0xBA55ED50
_PTX, _MACHINE = 1, 2
_KNOWN = range(20, 1000)
"""Architectures that make sense; anything else means that the layout has changed."""
_NAMES = 1 << 20
"""Bytes that the names of all sections take at the most; a damaged header may say anything."""


@dataclass(frozen=True, kw_only=True)
class DeviceCode:
    """Architectures of one library."""

    file: str
    machine: frozenset[int] = frozenset()
    """sm_XX with machine code."""
    ptx: frozenset[int] = frozenset()
    """compute_XX with PTX."""
    size: int = 0
    """Bytes of device code."""
    complete: bool = True
    """False when time ran out or a header was not understood."""

    def runs_on(self, capability: int) -> str:
        """Return how a card of compute capability ``capability`` (90) would run it.

        ``machine`` code runs on the same major version from its minor version up; ``ptx`` is
        compiled by the driver at first use; ``none`` means that it cannot run.
        """
        major, minor = divmod(capability, 10)
        if any(arch // 10 == major and arch % 10 <= minor for arch in self.machine):
            return "machine"
        return "ptx" if any(arch <= capability for arch in self.ptx) else "none"


def device_code(file: str, *, seconds: float = 1.0) -> DeviceCode | None:
    """Return the device code in a shared library, or None when it has none or is no sound ELF file.

    Args:
        file: Path of the library.
        seconds: Time that reading its headers may take.

    """
    deadline = time.monotonic() + seconds
    try:
        with Path(file).open("rb") as stream:
            sections = [place for name, *place in _sections(stream) if name in _SECTIONS]
            if not sections:
                return None
            found = _entries(stream, sections, deadline)
    except (OSError, struct.error, ValueError, IndexError):
        return None
    size = sum(length for _, length in sections)
    if found is None:
        return _ask_cuobjdump(file, size)
    return DeviceCode(
        file=file,
        machine=frozenset(arch for kind, arch in found if kind == _MACHINE),
        ptx=frozenset(arch for kind, arch in found if kind == _PTX),
        size=size,
        complete=time.monotonic() < deadline,
    )


def _sections(stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Yield (name, offset, size) of the sections of a 64-bit little-endian ELF file."""
    head = stream.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", head, 40)
    width, count, names = struct.unpack_from("<HHH", head, 58)
    stream.seek(table)
    raw = stream.read(width * count)
    rows = [struct.unpack_from("<IIQQQQ", raw, index * width) for index in range(count)]
    if not rows:
        return
    stream.seek(rows[names][4])
    texts = stream.read(min(rows[names][5], _NAMES))
    for at, _, _, _, offset, size in rows:
        yield texts[at : texts.index(b"\0", at)], offset, size


def _entries(
    stream: BinaryIO, sections: list[list[int]], deadline: float
) -> set[tuple[int, int]] | None:
    """Return (kind, architecture) of the entries; None when a header makes no sense."""
    found: set[tuple[int, int]] = set()
    for offset, size in sections:
        at, end = offset, offset + size
        while at + 16 <= end and time.monotonic() < deadline:
            stream.seek(at)
            magic, _, header, length = struct.unpack("<IHHQ", stream.read(16))
            if magic != _MAGIC:
                at += 8  # containers are aligned; what lies between is padding
                continue
            inside, at = at + header, at + header + length
            while inside + 64 <= at and time.monotonic() < deadline:
                stream.seek(inside)
                entry = stream.read(32)
                kind, _, own, body = struct.unpack_from("<HHIQ", entry)
                (arch,) = struct.unpack_from("<I", entry, 28)
                if arch not in _KNOWN or own < 64:
                    return None
                found.add((kind, arch))
                inside += own + body
    return found


def _ask_cuobjdump(file: str, size: int) -> DeviceCode:
    """Ask NVIDIA's own tool about a library whose headers are of an unknown kind."""
    tool = shutil.which("cuobjdump")
    unknown = DeviceCode(file=file, size=size, complete=False)
    if tool is None:
        return unknown
    try:
        listed = subprocess.run(
            [tool, "--list-elf", "--list-ptx", file],
            check=False,
            capture_output=True,
            text=True,
            timeout=5,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return unknown
    return DeviceCode(
        file=file,
        machine=_listed(listed, "elf"),
        ptx=_listed(listed, "ptx"),
        size=size,
    )


def _listed(text: str, kind: str) -> frozenset[int]:
    """Return the architectures in lines like ``ELF file 1: a.sm_90.cubin``."""
    lines = (line for line in text.splitlines() if line.lower().startswith(kind))
    marks = (line.rpartition("sm_")[2].partition(".")[0].rstrip("af") for line in lines)
    return frozenset(int(mark) for mark in marks if mark.isdigit())
