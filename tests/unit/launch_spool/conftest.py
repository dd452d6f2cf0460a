"""A writer of synthetic spools: readable moments in milliseconds after the spawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from coldsoak.launch import spool as reader
from coldsoak.model import spool

if TYPE_CHECKING:
    from pathlib import Path

T0 = 1_000_000_000_000
MS = 1_000_000


def at(ms: float) -> int:
    return T0 + round(ms * MS)


class Writer:
    """Writes the file of one process."""

    def __init__(self, folder: Path, pid: int, begin: float, **process: Any) -> None:
        self.pid = pid
        self.path = folder / f"{pid}-{at(begin)}.jsonl"
        fields = {
            "protocol": spool.PROTOCOL,
            "pid": pid,
            "ppid": 1,
            "thread": pid,
            "begin_ns": at(begin),
            "python": "3.12.1",
            "executable": "/usr/bin/python3",
            "argv": ["python", "script.py"],
            "cwd": "/home/me",
            "how": "script",
            "starttime_ticks": 0,
        }
        self.add(spool.Process(**{**fields, **process}))

    def add(self, *records: Any) -> Writer:
        self.raw(*(msgspec.json.encode(record) + b"\n" for record in records))
        return self

    def raw(self, *lines: bytes) -> Writer:
        with self.path.open("ab") as file:
            file.writelines(lines)
        return self

    def phases(self, **moments: float) -> Writer:
        return self.add(*(spool.Phase(name, at(ms), self.pid) for name, ms in moments.items()))

    def site(self, number: int, line: int, function: str = "<module>", file: str = "script.py"):
        name = f"/home/me/{file}"
        return self.add(spool.Site(number, name, line, function, "time.perf_counter"))

    def key(self, number: int, *frames: tuple[str, int, str], **case: str) -> Writer:
        stack = [(f"/home/me/{file}", line, function) for file, line, function in frames]
        return self.add(spool.Key(number, stack, list(case.items())))

    def read_clock(
        self, number: int, site: int, ms: float, key: int = 0, thread: int | None = None
    ):
        thread = self.pid if thread is None else thread
        return self.add(spool.Reading(number, site, key, thread, at(ms), ms / 1e3))

    def region(self, start: int, end: int, first: float, last: float, key: int = 0, **more: Any):
        fields = {"thread": self.pid, "kind": "clock", "seconds": (last - first) / 1e3, **more}
        return self.add(
            spool.Region(
                start=start, end=end, key=key, start_ns=at(first), end_ns=at(last), **fields
            )
        )

    def timed(self, first: float, last: float, *, reading: int, key: int = 0, sites=(0, 1)):
        """Add two readings and their subtraction."""
        self.read_clock(reading, sites[0], first, key).read_clock(reading + 1, sites[1], last, key)
        return self.region(reading, reading + 1, first, last, key)

    def imported(self, name: str, first: float, last: float, depth: int = 0, **more: Any) -> Writer:
        fields = {"thread": self.pid, "file": f"/lib/{name}.py", "compile_ns": 0, "gc_ns": 0}
        return self.add(
            spool.Imported(
                name=name, start_ns=at(first), end_ns=at(last), depth=depth, **{**fields, **more}
            )
        )


@pytest.fixture
def write(tmp_path: Path):
    """Start the file of a process: ``write(pid, begin_ms, **fields of the process record)``."""
    return lambda pid=10, begin=20.0, **fields: Writer(tmp_path, pid, begin, **fields)


@pytest.fixture
def read(tmp_path: Path):
    """Read all that was written; ``end`` in ms after the spawn."""

    def run(end: float | None = 1000.0, spawn_pid: int | None = 10, **more: Any) -> reader.Contents:
        end_ns = None if end is None else at(end)
        return reader.read(tmp_path, t0_ns=T0, spawn_pid=spawn_pid, end_ns=end_ns, **more)

    return run
