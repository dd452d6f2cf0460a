"""Bytecode of the installed packages."""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.machine.checks.base import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["Bytecode", "Modules"]

_TESTS = {"test", "tests", "testing", "__pycache__"}
_HASHED = 1


@dataclass(frozen=True, kw_only=True)
class Modules:
    """Modules of one package and their bytecode."""

    package: str
    folder: str = ""
    modules: int = 0
    missing: int = 0
    """No bytecode of this interpreter's, or older than the source."""
    writable: bool = True
    """An import could write it: the folder allows it and the interpreter does."""
    executable: str = "python"
    complete: bool = True


class Bytecode:
    """Bytecode of the frameworks' modules.

    A module without current bytecode is compiled each time it is imported: 2,141 modules of torch
    took 1.7 s in each process on one machine, whose image set PYTHONDONTWRITEBYTECODE. Where the
    folder is writable, the next import writes it; elsewhere it stays that way for good.
    """

    code = "bytecode"
    group: Group = "interpreter"

    def read(self, subject: Subject) -> tuple[Modules, ...]:
        """Compare each module with its ``.pyc`` file, package by package, within the time allowed."""
        deadline = time.monotonic() + subject.seconds
        python = subject.python
        found = []
        for package, folder in sorted(python.packages.items()):
            if time.monotonic() < deadline:
                counts = _count(folder, python.tag, python.prefix, deadline)
                can = python.writes_bytecode and _can_write(folder, python.prefix)
                found.append(
                    Modules(
                        package=package,
                        folder=folder,
                        modules=counts[0],
                        missing=counts[1],
                        writable=can,
                        executable=python.executable,
                        complete=counts[2],
                    )
                )
        return tuple(one for one in found if one.modules)

    def judge(self, seen: tuple[Modules, ...]) -> Iterator[Verdict]:
        """Complain of packages that lack a fifth of their bytecode."""
        lacking = [one for one in seen if one.missing >= max(0.2 * one.modules, 10)]
        lacking.sort(key=lambda one: -one.missing)
        for one in lacking:
            yield Verdict(
                code="bytecode-missing" if one.writable else "bytecode-unwritable",
                state="warn" if one.writable else "bad",
                what=f"{one.missing} of {one.modules} modules of {one.package} have no "
                "current bytecode.",
                why="The first process that imports them compiles and keeps it."
                if one.writable
                else "Each process compiles those it imports again, as nothing can be kept.",
                do=_compile(one),
            )
        if seen and not lacking:
            total = sum(one.modules for one in seen)
            what = f"{total} modules of {len(seen)} frameworks have current bytecode."
            yield Verdict(code=self.code, state="ok", what=what)


def _compile(one: Modules) -> str:
    return f"{one.executable} -m compileall -q {one.folder}"


def _count(folder: str, tag: str, prefix: str, deadline: float) -> tuple[int, int, bool]:
    """Return modules, modules without current bytecode, and whether all were looked at."""
    modules = missing = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _TESTS)
        if time.monotonic() > deadline:
            return modules, missing, False
        cache = Path(prefix + place if prefix else place + "/__pycache__")
        for name in _sources(files):
            modules += 1
            compiled = cache / f"{name[:-3]}.{tag}.pyc"
            missing += not _current(Path(place, name), compiled)
    return modules, missing, True


def _sources(files: Iterable[str]) -> list[str]:
    return sorted(name for name in files if name.endswith(".py"))


def _current(source: Path, compiled: Path) -> bool:
    """Whether the import system would take the bytecode (PEP 552 header: magic, flags, time, size)."""
    try:
        with compiled.open("rb") as stream:
            head = stream.read(16)
        flags, moment, size = struct.unpack("<4xIII", head)
        if flags & _HASHED:
            return True
        state = source.stat()
    except (OSError, struct.error):
        return False
    wanted = int(state.st_mtime) & 0xFFFFFFFF, state.st_size & 0xFFFFFFFF
    return (moment, size) == wanted


def _can_write(folder: str, prefix: str) -> bool:
    place = Path(prefix or folder)
    while not place.exists() and place != place.parent:
        place = place.parent
    return os.access(place, os.W_OK)
