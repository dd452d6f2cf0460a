"""Records as the kernel would write them, built by hand from linux/perf_event.h."""

from __future__ import annotations

import struct

import pytest

MAPS = 0xFFFFFFFF


class Ring:
    """One CPU's stream of perf records in the sample type of the agent."""

    def __init__(self) -> None:
        self.data = b""

    def _record(self, kind: int, misc: int, body: bytes) -> None:
        self.data += struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    def _trailer(self, pid: int, tid: int, time: int) -> bytes:
        return struct.pack("<IIQQ", pid, tid, time, 1)

    def sample(self, time: int, *chain: int, pid=10, tid=10, event=1, address=0) -> Ring:
        ip = next((a for a in chain if a < 0xFFFFFFFFFFFFF000), 0)
        body = struct.pack("<QQIIQQQ", event, ip, pid, tid, time, address, len(chain))
        self._record(9, 2, body + struct.pack(f"<{len(chain)}Q", *chain))
        return self

    def switch(self, time: int, *, out: bool, preempted=False, pid=10, tid=10) -> Ring:
        misc = (1 << 13 if out else 0) | (1 << 14 if preempted else 0)
        self._record(14, misc, self._trailer(pid, tid, time))
        return self

    def mmap(
        self, time: int, start: int, size: int, name: str, *, offset=0, pid=10, prot=5, data=False
    ) -> Ring:
        text = name.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        body = struct.pack("<IIQQQIIQQII", pid, pid, start, size, offset, 8, 1, 5, 0, prot, 2)
        self._record(10, 1 << 13 if data else 0, body + text + self._trailer(pid, pid, time))
        return self

    def fork(self, time: int, pid: int, ppid: int, tid: int, ptid: int, *, kind=7) -> Ring:
        body = struct.pack("<IIIIQ", pid, ppid, tid, ptid, time)
        self._record(kind, 0, body + self._trailer(ppid, ptid, time))
        return self

    def exit(self, time: int, pid: int, ppid: int) -> Ring:
        return self.fork(time, pid, ppid, pid, ppid, kind=4)

    def comm(self, time: int, pid: int, name: str, *, executed=False) -> Ring:
        text = name.encode(errors="surrogateescape").ljust(16, b"\0")
        misc = 1 << 13 if executed else 0
        self._record(3, misc, struct.pack("<II", pid, pid) + text + self._trailer(pid, pid, time))
        return self

    def lost(self, count: int) -> Ring:
        self._record(2, 0, struct.pack("<QQ", 1, count) + self._trailer(10, 10, 1))
        return self


def chunk(kind: int, content: bytes, now: int = 0) -> bytes:
    return struct.pack("<IIQ", kind, len(content), now) + content


@pytest.fixture
def ring():
    return Ring


@pytest.fixture
def write_perf(tmp_path):
    """Write rings, numbered as CPUs, and copies of maps (pid, text) to a bulk file."""

    def write(*rings: Ring, maps: tuple[tuple[int, str], ...] = (), tail: bytes = b""):
        path = tmp_path / "10-1.perf"
        content = b"".join(chunk(MAPS, f"{pid}\n{text}".encode(), 1) for pid, text in maps)
        content += b"".join(chunk(cpu, ring.data) for cpu, ring in enumerate(rings))
        path.write_bytes(content + tail)
        return path

    return write
