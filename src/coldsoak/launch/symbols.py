"""From a code address to a library and a symbol, in pure Python, after the launch.

ELF symbol tables are read through ``mmap`` and NumPy; only addresses that were sampled are
resolved. A library without its own symbol table is resolved by its exported symbols as far as
their sizes reach; an address outside of them has a library and no symbol. Symbols are kept as
the file has them (Itanium mangled); :func:`short` makes a readable form.

The ELF64 layouts are those of the System V ABI (``elf.h``).
"""

from __future__ import annotations

import bisect
import mmap
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from coldsoak.launch.perfdata import MapRecord

__all__ = ["AddressSpace", "Elf", "Kernel", "Place", "is_kernel", "library_name", "short"]

_SYMBOL = [
    ("name", "<u4"),
    ("info", "u1"),
    ("other", "u1"),
    ("section", "<u2"),
    ("value", "<u8"),
    ("size", "<u8"),
]
_FUNCTION, _INDIRECT = 2, 10
_SYMTAB, _DYNSYM = 2, 11
_LOAD = 1

Place = tuple[str, int]
"""A file (or ``[kernel]``, ``[jit]``, …) and an offset in it, or an address where it has no file."""


_NAMED = frozenset({"[vdso]", "[vsyscall]", "[kernel]", "[unmapped]", "[unknown]"})


def is_kernel(address: int) -> bool:
    """Return whether an address belongs to the kernel's half of the address space."""
    return address >> 63 != 0


def library_name(path: str) -> str:
    """Return the name of a mapping's file without its folder, or the name of what it is instead."""
    if path.startswith("/") and not path.startswith(("//anon", "/dev/zero", "/memfd:")):
        return path.rpartition("/")[2].removesuffix(" (deleted)")
    return path if path in _NAMED else "[jit]"


class Elf:
    """The function symbols of one ELF64 little-endian file; empty for anything else."""

    def __init__(self, path: str) -> None:
        self._names: list[tuple[int, int]] = []
        self._segments: list[tuple[int, int, int]] = []
        self._symbols: npt.NDArray[Any] | None = None
        self._data: mmap.mmap | bytes = b""
        try:
            self._load(path)
        except (OSError, ValueError, OverflowError, IndexError, struct.error):
            self._symbols = None

    def _load(self, path: str) -> None:
        with Path(path).open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if data[:6] != b"\x7fELF\x02\x01":
            return
        self._data = data
        program, section = struct.unpack_from("<QQ", data, 32)
        psize, pcount, ssize, scount = struct.unpack_from("<HHHH", data, 54)
        for number in range(pcount):
            kind, _, offset, address, _, size = struct.unpack_from(
                "<IIQQQQ", data, program + number * psize
            )
            if kind == _LOAD:
                self._segments.append((offset, address, size))
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", data, section + number * ssize)
            for number in range(scount)
        ]
        self._symbols = _functions(data, sections)

    def name(self, offset: int) -> str:
        """Return the symbol that covers an offset in the file, or an empty string."""
        if self._symbols is None or not len(self._symbols):
            return ""
        address = self._address(offset)
        if address is None:
            return ""
        index = int(self._symbols["value"].searchsorted(address, side="right")) - 1
        if index < 0:
            return ""
        start, size, text = (int(self._symbols[field][index]) for field in ("value", "size", "at"))
        if size and address >= start + size:
            return ""
        end = self._data.find(b"\0", text)
        return self._data[text:end].decode("utf-8", "replace")

    def _address(self, offset: int) -> int | None:
        for begin, address, size in self._segments:
            if begin <= offset < begin + size:
                return offset - begin + address
        return None


def _functions(data: mmap.mmap, sections: list[tuple[int, ...]]) -> npt.NDArray[Any]:
    """Return the functions of the symbol tables by address: value, size, place of the name."""
    import numpy as np

    tables = []
    for kind in (_SYMTAB, _DYNSYM):
        for header in sections:
            if header[1] != kind or not header[5]:
                continue
            raw: npt.NDArray[Any] = np.frombuffer(
                data, dtype=np.dtype(_SYMBOL), count=header[5] // 24, offset=header[4]
            )
            sort = raw["info"] & 15
            raw = raw[((sort == _FUNCTION) | (sort == _INDIRECT)) & (raw["section"] != 0)]
            tables.append(_table(raw, sections[header[6]][4]))
        if tables:
            break  # the full table holds the exported functions too
    if not tables:
        return np.empty(0, dtype=[("value", "u8"), ("size", "u8"), ("at", "u8")])
    table: npt.NDArray[Any] = np.concatenate(tables)
    return table[np.argsort(table["value"], kind="stable")]


def _table(raw: npt.NDArray[Any], strings: int) -> npt.NDArray[Any]:
    import numpy as np

    table = np.empty(len(raw), dtype=[("value", "u8"), ("size", "u8"), ("at", "u8")])
    table["value"], table["size"] = raw["value"], raw["size"]
    table["at"] = raw["name"].astype(np.uint64) + np.uint64(strings)
    return table


_ELVES: dict[tuple[str, int, int, int], Elf] = {}


def elf(path: str) -> Elf | None:
    """Return the symbols of a file, read once while it stays the same; None when it is gone."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    key = (path, status.st_ino, status.st_size, status.st_mtime_ns)
    if key not in _ELVES:
        _ELVES[key] = Elf(path)
    return _ELVES[key]


class Kernel:
    """Kernel symbols by address, from ``/proc/kallsyms``; without privilege it has none."""

    def __init__(self, text: str | None = None) -> None:
        if text is None:
            try:
                text = Path("/proc/kallsyms").read_text(encoding="ascii", errors="replace")
            except OSError:
                text = ""
        found = []
        for line in text.splitlines():
            parts = line.split()
            if len(parts) >= 3 and parts[1] in "tTwW" and parts[0].strip("0"):
                library = parts[3] if len(parts) > 3 else "[kernel]"
                found.append((int(parts[0], 16), library, parts[2]))
        found.sort()
        self._starts = [entry[0] for entry in found]
        self._found = found

    def resolve(self, address: int) -> tuple[str, str]:
        """Return ``[kernel]`` or the module in brackets, and the symbol if it may be read."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0:
            return "[kernel]", ""
        return self._found[index][1], self._found[index][2]


@dataclass
class AddressSpace:
    """The mappings of one process as they are at one moment; records are applied in time order."""

    taken: int = 0
    """When the copy of /proc/self/maps that it began with was made."""
    _starts: list[int] = field(default_factory=list)
    _maps: list[MapRecord] = field(default_factory=list)

    def copy(self) -> AddressSpace:
        """Return the address space that a forked child begins with."""
        return AddressSpace(self.taken, list(self._starts), list(self._maps))

    def add(self, new: MapRecord) -> None:
        """Enter a mapping; it replaces, cuts or splits what it overlaps."""
        first = bisect.bisect_left(self._starts, new.start)
        if first and self._maps[first - 1].end > new.start:
            first -= 1
        last = first
        kept: list[MapRecord] = []
        while last < len(self._maps) and self._maps[last].start < new.end:
            old = self._maps[last]
            if old.start < new.start:
                kept.append(old._replace(end=new.start))
            if old.end > new.end:
                moved = old.offset + new.end - old.start
                kept.append(old._replace(start=new.end, offset=moved))
            last += 1
        pieces = sorted([*kept, new], key=lambda piece: piece.start)
        self._maps[first:last] = pieces
        self._starts[first:last] = [piece.start for piece in pieces]

    def extend(self, records: Iterable[MapRecord]) -> None:
        """Enter several mappings."""
        for record in records:
            self.add(record)

    def find(self, address: int) -> MapRecord | None:
        """Return the mapping at an address, or None."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._maps[index].end:
            return self._maps[index]
        return None

    def place(self, address: int) -> Place:
        """Return the file and offset of an address; code without a file is ``[jit]``.

        Memory that cannot be executed is no code: a caller without a frame pointer left a number
        where an address should be.
        """
        found = self.find(address)
        if found is None:
            return "[unmapped]", 0
        if library_name(found.name) == "[jit]":
            return ("[jit]" if found.executable else "[unmapped]"), 0
        return found.name, address - found.start + found.offset


_NESTED = re.compile(r"_Z(?:T[VIS])?Z*N?[KVRO]*")
_ABBREVIATED = {"St": "std", "Ss": "std::string", "Sa": "std::allocator"}


def short(symbol: str, limit: int = 80) -> str:
    """Return a readable form of a mangled C++ name: its scopes and name, no arguments.

    This is no demangler: templates and operators end the reading, and what cannot be read is
    returned as it is.
    """
    head = _NESTED.match(symbol)
    if not symbol.startswith("_Z") or head is None:
        return symbol[:limit]
    place, parts = head.end(), []
    if symbol[place : place + 2] in _ABBREVIATED:
        parts.append(_ABBREVIATED[symbol[place : place + 2]])
        place += 2
    while (digits := re.compile(r"\d+").match(symbol, place)) is not None:
        end = digits.end() + int(digits.group())
        parts.append(symbol[digits.end() : end])
        place = end
        if symbol[place : place + 1] == "L" and symbol[place + 1 : place + 2].isdigit():
            place += 1  # internal linkage
    return "::".join(parts)[:limit] if parts else symbol[:limit]
