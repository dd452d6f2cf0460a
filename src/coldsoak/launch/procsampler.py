"""Looks at the threads of a launch through /proc, about 100 times a second, from outside.

This is what is left where the kernel refuses ``perf_event_open``: which thread ran, by clock ticks
(4 to 10 ms), and what the others waited in (``wchan``, where it may be read). It sees no code, so
the ledger has less detail and says so.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from coldsoak.launch import proc
from coldsoak.launch.waits import wait_reason

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from coldsoak.launch.columns import Columns
    from coldsoak.launch.samples import HostFrames

__all__ = ["FILE_NAME", "ProcSampler", "add_proc_samples"]

FILE_NAME = "proc.samples"
"""In the launch's spool folder: one JSON array a row, [ns, pid, tid, state, ticks, wchan]."""
_LARGEST_SHARE = 0.1
"""Of one CPU that looking may take; with many threads it looks less often."""
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class ProcSampler:
    """Watches the processes that write into a spool folder, and their descendants.

    Use it as a context manager around the launch; it writes its file when left.
    """

    def __init__(self, spool: Path, period_s: float = 0.01) -> None:
        self._spool = spool
        self._period = period_s
        self._rows: list[tuple[int, int, int, str, int, str]] = []
        self._roots: set[int] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="proc-sampler", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        with suppress(OSError), (self._spool / FILE_NAME).open("w", encoding="utf-8") as file:
            for row in self._rows:
                file.write(json.dumps(row) + "\n")

    def _watch(self) -> None:
        pause = self._period
        while not self._done.wait(pause):
            begin = time.monotonic()
            self._look()
            pause = max(self._period, (time.monotonic() - begin) / _LARGEST_SHARE)

    def _look(self) -> None:
        with suppress(OSError):
            for file in self._spool.glob("*.jsonl"):
                name = file.name.partition("-")[0]
                if name.isdigit():
                    self._roots.add(int(name))
        queue = list(self._roots)
        seen: set[int] = set()
        while queue:
            pid = queue.pop()
            if pid not in seen:
                seen.add(pid)
                queue += proc.children(pid)
                self._threads(pid)

    def _threads(self, pid: int) -> None:
        try:
            tids = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - many times a second
        except OSError:
            return
        for tid in tids:
            folder = f"/proc/{pid}/task/{tid}/"
            stat = _read(folder + "stat")
            fields = stat[stat.rfind(")") + 2 :].split()
            if len(fields) > 12:
                ticks = int(fields[11]) + int(fields[12])
                wchan = "" if fields[0] == "R" else _read(folder + "wchan")
                row = (time.monotonic_ns(), pid, int(tid), fields[0], ticks, wchan)
                self._rows.append(row)


def _read(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 1024).decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def add_proc_samples(path: Path, columns: Columns, frames: HostFrames) -> int:
    """Turn the file of a :class:`ProcSampler` into samples, off-CPU time and waits.

    CPU time since the last look becomes samples of one clock tick at the moment of looking; their
    code is unknown. A thread seen waiting twice in a row waited in between. Returns the period of
    the samples in ns, 0 when there are none.
    """
    unknown = frames.stack((frames.frame(("[unknown]", 0)),))
    before: dict[tuple[int, int], list[Any]] = {}
    found = False
    for line in path.read_text(encoding="utf-8").splitlines():
        now, pid, tid, state, ticks, wchan = row = json.loads(line)
        last = before.get((pid, tid))
        before[pid, tid] = row
        track = columns.track(pid, tid)
        for _ in range(ticks - last[4] if last else 0):
            columns.sample(now, track, unknown)
            found = True
        if last and last[3] in "SD" and state in "SD" and ticks == last[4]:
            columns.off_cpu(last[0], now, track, runnable=False)
            symbol = "io_schedule" if state == "D" and wchan in {"", "0"} else wchan
            reason = "" if symbol in {"", "0"} else wait_reason([symbol])
            if reason:
                columns.span(track, "wait", reason, (last[0], now))
    return _TICK_NS if found else 0
