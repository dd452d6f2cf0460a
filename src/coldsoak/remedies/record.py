"""Records which parts of which files a command reads as it starts, for preheat's ``readahead``.

The files of the command's environment are put out of the page cache and the command is run once.
Of files that it maps, the process tells at its end which pages it touched
(``coldsoak_agent.touched``); of all others, mincore(2) tells what is in memory that was not before.
Neither needs privileges. Of the mapped files the kernel's read-ahead is thus not recorded, however
large it is set; small files that are read come whole anyway.

Ranges that lie nearer than :data:`GAP` are joined, because one larger read is faster than two.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.errors import CommandFailed
from coldsoak.launch.command import resolve
from coldsoak.launch.environment_files import command_files
from coldsoak.launch.pagecache import drop, resident_pages
from coldsoak.remedies.apply import INJECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["GAP", "Recording", "join", "record"]

GAP = 256 << 10
"""Bytes between two ranges that are read along with them."""

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TAIL = 2000

Ranges = dict[str, list[tuple[int, int]]]
"""Path -> (offset, length) in bytes."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What was written."""

    file: Path
    ranges: int
    files: int
    bytes: int
    """Sum of the ranges."""
    installed: int
    """Size of the environment's files."""
    hidden: int
    """Files that stayed in memory: what was touched of them shows only where they are mapped."""


def record(
    command: Sequence[str],
    into: Path,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float = 600.0,
) -> Recording:
    """Run ``command`` once with a cold page cache and write what it read to the file ``into``.

    Other programs that use the same files are slower meanwhile, as after ``--cold disk``.

    Raises:
        CommandFailed: It ended with another status than 0, by a signal, or not in time.
        UsageError: It cannot be found, or its interpreter does not answer.

    """
    given = dict(os.environ if environment is None else environment)
    place = str(folder or Path.cwd())
    argv = tuple(command)
    program = resolve(argv, cwd=place, path=given.get("PATH"))
    names = drop(command_files(program, argv, place, given))
    before = {name: pages for name in names if 1 in (pages := resident_pages(name))}
    with tempfile.TemporaryDirectory(prefix="coldsoak-record-") as scratch:
        told = Path(scratch, "touched")
        _run(argv, program, place, _with_agent(given, told), timeout_s)
        mapped, imported = _read(told)
    read = {name: new for name in names if name not in mapped and (new := _new(name, before))}
    order = _interleave(list(mapped), _as_imported(read, imported))
    touched = {name: _inside(name, join((mapped | read)[name])) for name in order}
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text("".join(_lines(touched)), encoding="utf-8", errors="surrogateescape")
    lengths = [length for ranges in touched.values() for _, length in ranges]
    return Recording(
        file=into,
        ranges=len(lengths),
        files=len(touched),
        bytes=sum(lengths),
        installed=sum(Path(name).stat().st_size for name in names),
        hidden=sum(name not in mapped for name in before),
    )


def join(ranges: Iterable[tuple[int, int]], gap: int = GAP) -> list[tuple[int, int]]:
    """Return (offset, length) in order, overlapping and near ones as one."""
    joined: list[tuple[int, int]] = []
    for offset, length in sorted(ranges):
        if joined and offset - sum(joined[-1]) < gap:
            first = joined[-1][0]
            joined[-1] = (first, max(sum(joined[-1]), offset + length) - first)
        else:
            joined.append((offset, length))
    return joined


def _with_agent(environment: Mapping[str, str], told: Path) -> dict[str, str]:
    path = [INJECT, environment.get("PYTHONPATH", "")]
    return {
        **{name: value for name, value in environment.items() if not name.startswith("COLDSOAK")},
        "COLDSOAK_PREHEAT": f"record {told}",
        "PYTHONPATH": os.pathsep.join(part for part in path if part),
    }


def _run(
    argv: tuple[str, ...], program: str, folder: str, environment: dict[str, str], timeout_s: float
) -> None:
    try:
        done = subprocess.run(
            argv,
            executable=program,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"{argv[0]} did not end in {timeout_s:g} s.") from None
    if done.returncode:
        text = done.stderr.decode(errors="replace")[-_TAIL:]
        raise CommandFailed(f"{argv[0]} ended with status {done.returncode}.", why=text)


def _read(told: Path) -> tuple[Ranges, list[str]]:
    """Return the touched ranges of mapped files, and the files of modules as they were imported."""
    ranges: Ranges = {}
    imported: list[str] = []
    if told.exists():  # a program that is no Python, or was killed, tells nothing
        for line in told.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            path, *numbers = line.split("\t")
            if numbers:
                ranges.setdefault(path, []).append((int(numbers[0]), int(numbers[1])))
            else:
                imported.append(path)
    files = {path for path in ranges if Path(path).is_file()}
    return {path: found for path, found in ranges.items() if path in files}, imported


def _new(name: str, before: Mapping[str, bytes]) -> list[tuple[int, int]]:
    """Return the ranges of a file that came into memory since ``before``."""
    now, then = resident_pages(name), before.get(name, b"")
    then = then.ljust(len(now), b"\0")
    return [(page * _PAGE, _PAGE) for page, there in enumerate(now) if there and not then[page]]


def _as_imported(read: Iterable[str], imported: Iterable[str]) -> list[str]:
    """Order files as their modules were imported, the others behind them."""
    position = {name: at for at, name in enumerate(imported)}
    return sorted(read, key=lambda name: position.get(name, len(position)))


def _interleave(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Merge two orders so that both are half done at the same time."""
    placed = [(at / len(names), name) for names in (one, other) for at, name in enumerate(names)]
    return [name for _, name in sorted(placed, key=lambda pair: pair[0])]


def _inside(name: str, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut the ranges at the end of the file: the last page of a mapping is not full."""
    size = Path(name).stat().st_size
    return [(offset, min(length, size - offset)) for offset, length in ranges if offset < size]


def _lines(touched: Ranges) -> Iterator[str]:
    for name, ranges in touched.items():
        state = Path(name).stat()
        mark = f"\t{state.st_size}\t{state.st_mtime_ns}"
        for offset, length in ranges:
            yield f"{name}\t{offset}\t{length}{mark}\n"
            mark = ""
