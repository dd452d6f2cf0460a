"""Reads what the agent's CUPTI source wrote: raw activity records and the texts they point to.

The offsets are those of the leading fields of the record types of ``<cupti_activity.h>``, equal in
CUPTI 12.1, 12.5, 12.8 and 13.0; the sizes come with the file.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CuptiRecords", "read"]

MEMCPY, MEMSET, DRIVER, RUNTIME, DEVICE = 1, 2, 4, 5, 8
KERNEL, OVERHEAD, SYNCHRONIZATION, MEMORY2, JIT = 10, 17, 38, 49, 52

_TIMES = "start:u8@16 end:u8@24"
_PLACE = "device:u4@32 stream:u4@40 correlation:u4@44"
_API = "cbid:u4@4 start:u8@8 end:u8@16 thread:u4@28 correlation:u4@32 status:u4@36"
_LAYOUTS = {
    MEMCPY: f"copy:u1@4 bytes:u8@8 {_TIMES} {_PLACE}",
    MEMSET: f"bytes:u8@8 {_TIMES} {_PLACE}",
    DRIVER: _API,
    RUNTIME: _API,
    DEVICE: "bandwidth:u8@8 memory:u8@16 clock:u4@36 multiprocessors:u4@44 major:u4@104"
    " minor:u4@108 device:u4@112 name:u8@136",
    KERNEL: f"{_TIMES} device:u4@40 stream:u4@48 correlation:u4@92 name:u8@104",
    OVERHEAD: "what:u4@4 object:u4@8 thread:u4@16 start:u8@24 end:u8@32",
    SYNCHRONIZATION: "what:u4@4 start:u8@8 end:u8@16 correlation:u4@24",
    MEMORY2: "operation:u4@4 memory_kind:u4@8 correlation:u4@12 bytes:u8@24 time:u8@32"
    " device:u4@52",
    JIT: f"entry:u4@4 operation:u4@8 {_TIMES} correlation:u4@32 bytes:u8@48 path:u8@56"
    " thread:u4@68",
}
"""Fields of each record as ``name:type@offset``; a field beyond a shorter, older record is 0."""

_OVERHEADS = {
    0: "UNKNOWN",
    1: "DRIVER_COMPILER",
    1 << 16: "CUPTI_BUFFER_FLUSH",
    2 << 16: "CUPTI_INSTRUMENTATION",
    3 << 16: "CUPTI_RESOURCE",
    4 << 16: "RUNTIME_TRIGGERED_MODULE_LOADING",
    5 << 16: "LAZY_FUNCTION_LOADING",
    6 << 16: "COMMAND_BUFFER_FULL",
    7 << 16: "ACTIVITY_BUFFER_REQUEST",
    8 << 16: "UVM_ACTIVITY_INIT",
}
_COPIES = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
_SYNCS = {1: "event", 2: "stream wait event", 3: "stream", 4: "context"}
_JIT_OPERATIONS = {1: "CACHE_LOAD", 2: "CACHE_STORE", 3: "COMPILE"}
_JIT_ENTRIES = {1: "PTX_TO_CUBIN", 2: "NVVM_IR_TO_PTX"}
_MEMORY_KINDS = {1: "pageable", 2: "pinned", 3: "device", 4: "array", 5: "managed"}


@dataclass(frozen=True)
class Call:
    """A span on a host thread: driver or runtime API, overhead, JIT operation, synchronisation."""

    source: str
    """cuda.driver | cuda.runtime | cuda.overhead | cuda.jit | cuda.sync"""
    name: str
    thread: int
    start_ns: int
    end_ns: int
    correlation: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Operation:
    """Work that ran on the device."""

    kind: str
    name: str
    device: int
    stream: int
    start_ns: int
    end_ns: int
    bytes_moved: int
    correlation: int


@dataclass(frozen=True)
class Allocation:
    """Memory taken (positive bytes) or given back (negative)."""

    kind: str
    ns: int
    bytes: int
    correlation: int


@dataclass(frozen=True)
class CuptiRecords:
    """All records of one process; times in CLOCK_MONOTONIC ns."""

    calls: tuple[Call, ...] = ()
    operations: tuple[Operation, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    devices: tuple[dict[str, Any], ...] = ()
    clock_error_ns: int = 0
    """Largest disagreement between the clock pairs of the file."""


@dataclass
class _File:
    raw: list[bytes] = field(default_factory=list)
    clocks: list[tuple[int, int]] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    apis: dict[tuple[int, int], str] = field(default_factory=dict)


def read(path: Path) -> CuptiRecords:
    """Read a file of the agent's CUPTI source; a truncated last chunk is left out.

    Raises:
        OSError: the file cannot be read.
    """
    file = _load(path.read_bytes())
    if not file.clocks:
        return CuptiRecords()
    tables = _tables(file)
    clock = _Clock(file.clocks)
    return CuptiRecords(
        calls=tuple(_calls(tables, file, clock)),
        operations=tuple(_operations(tables, file, clock)),
        allocations=tuple(_allocations(tables, clock)),
        devices=tuple(_devices(tables, file)),
        clock_error_ns=clock.error,
    )


def _load(data: bytes) -> _File:
    file = _File()
    at = 0
    while at + 8 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        payload = data[at + 8 : at + 8 + length]
        if len(payload) < length:
            break
        if kind == 1:
            file.raw.append(payload)
        else:
            for line in payload.decode("utf-8", "replace").splitlines():
                _line(file, line)
        at += 8 + length
    return file


def _line(file: _File, line: str) -> None:
    tag, _, rest = line.partition(" ")
    words = rest.split(" ", 2)
    if tag == "clock":
        before, stamp, after = (int(word) for word in words)
        file.clocks.append(((before + after) // 2, stamp))
    elif tag == "size":
        file.sizes[int(words[0])] = int(words[1])
    elif tag == "name":
        pointer, _, text = rest.partition(" ")
        file.names[int(pointer)] = text
    elif tag == "api":
        file.apis[int(words[0]), int(words[1])] = words[2]


class _Clock:
    """Maps CUPTI time to CLOCK_MONOTONIC by linear interpolation between the pairs of the file."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        import numpy as np

        pairs = sorted(pairs)
        self.origin_mono, self.origin_cupti = pairs[0]
        offsets = [mono - cupti for mono, cupti in pairs]
        self.error = max(offsets) - min(offsets)
        self.stamps = np.array([cupti - self.origin_cupti for _, cupti in pairs], dtype=np.float64)
        self.shifts = np.array([offset - offsets[0] for offset in offsets], dtype=np.float64)

    def mono(self, stamps: NDArray[np.uint64]) -> list[int]:
        import numpy as np

        relative = stamps.astype(np.int64) - self.origin_cupti
        shift = np.interp(relative.astype(np.float64), self.stamps, self.shifts).astype(np.int64)
        moved: list[int] = (relative + self.origin_mono + shift).tolist()
        return moved


def _tables(file: _File) -> dict[int, NDArray[Any]]:
    import numpy as np

    pieces: dict[int, list[bytes]] = defaultdict(list)
    unpack = struct.Struct("<i").unpack_from
    for raw in file.raw:
        at = 0
        while at + 4 <= len(raw):
            kind = unpack(raw, at)[0]
            size = file.sizes.get(kind)
            if size is None:
                break
            pieces[kind].append(raw[at : at + size])
            at += size
    tables = {}
    for kind, layout in _LAYOUTS.items():
        size = file.sizes.get(kind)
        if size is not None and kind in pieces:
            whole = [piece for piece in pieces[kind] if len(piece) == size]
            tables[kind] = np.frombuffer(b"".join(whole), dtype=_record(layout, size))
    return tables


def _record(layout: str, size: int) -> np.dtype[Any]:
    """Return the NumPy type of a record of ``size`` bytes."""
    import numpy as np

    names, formats, offsets = [], [], []
    for text in layout.split():
        name, _, rest = text.partition(":")
        code, _, at = rest.partition("@")
        if int(at) + int(code[1:]) <= size:
            names.append(name)
            formats.append(f"<{code}")
            offsets.append(int(at))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _column(table: NDArray[Any], name: str) -> list[int]:
    if name not in (table.dtype.names or ()):
        return [0] * len(table)
    values: list[int] = table[name].tolist()
    return values


def _rows(table: NDArray[Any], clock: _Clock, *names: str) -> Iterator[tuple[int, ...]]:
    """Yield (start, end, *names) of the records that have both ends."""
    kept = table[(table["start"] > 0) & (table["end"] >= table["start"])]
    columns = [_column(kept, name) for name in names]
    return zip(clock.mono(kept["start"]), clock.mono(kept["end"]), *columns, strict=True)


def _calls(tables: dict[int, NDArray[Any]], file: _File, clock: _Clock) -> Iterator[Call]:
    for kind, source in ((DRIVER, "cuda.driver"), (RUNTIME, "cuda.runtime")):
        if kind not in tables:
            continue
        names = ("cbid", "thread", "correlation", "status")
        for start, end, cbid, thread, correlation, status in _rows(tables[kind], clock, *names):
            name = file.apis.get((kind, cbid), f"{source} {cbid}")
            detail = f"status {status}" if status else ""
            yield Call(source, name, thread, start, end, correlation, detail)
    if OVERHEAD in tables:
        for start, end, what, thread in _rows(tables[OVERHEAD], clock, "what", "thread"):
            yield Call("cuda.overhead", _OVERHEADS.get(what, str(what)), thread, start, end)
    if JIT in tables:
        jit = ("operation", "entry", "thread", "correlation", "bytes", "path")
        for start, end, operation, entry, thread, correlation, size, where in _rows(
            tables[JIT], clock, *jit
        ):
            detail = f"{_JIT_ENTRIES.get(entry, entry)} {size} bytes {file.names.get(where, '')}"
            name = _JIT_OPERATIONS.get(operation, str(operation))
            yield Call("cuda.jit", name, thread, start, end, correlation, detail.strip())
    if SYNCHRONIZATION in tables:
        for start, end, what, correlation in _rows(
            tables[SYNCHRONIZATION], clock, "what", "correlation"
        ):
            yield Call("cuda.sync", _SYNCS.get(what, str(what)), 0, start, end, correlation)


def _operations(tables: dict[int, NDArray[Any]], file: _File, clock: _Clock) -> Iterator[Operation]:
    common = ("device", "stream", "correlation")
    if KERNEL in tables:
        for start, end, device, stream, link, name in _rows(tables[KERNEL], clock, *common, "name"):
            text = file.names.get(name, "?")
            yield Operation("kernel", text, device, stream, start, end, 0, link)
    if MEMCPY in tables:
        for start, end, device, stream, link, size, copy in _rows(
            tables[MEMCPY], clock, *common, "bytes", "copy"
        ):
            kind = _COPIES.get(copy, "copy")
            yield Operation(kind, f"memcpy {kind}", device, stream, start, end, size, link)
    if MEMSET in tables:
        for start, end, device, stream, link, size in _rows(
            tables[MEMSET], clock, *common, "bytes"
        ):
            yield Operation("memset", "memset", device, stream, start, end, size, link)


def _allocations(tables: dict[int, NDArray[Any]], clock: _Clock) -> Iterator[Allocation]:
    if MEMORY2 not in tables:
        return
    table = tables[MEMORY2]
    columns = (
        _column(table, name) for name in ("operation", "memory_kind", "bytes", "correlation")
    )
    for ns, operation, kind, size, link in zip(clock.mono(table["time"]), *columns, strict=True):
        signed = size if operation == 1 else -size
        yield Allocation(_MEMORY_KINDS.get(kind, "other"), ns, signed, link)


def _devices(tables: dict[int, NDArray[Any]], file: _File) -> Iterator[dict[str, Any]]:
    if DEVICE not in tables:
        return
    for row in tables[DEVICE]:
        record: dict[str, Any] = {name: int(row[name]) for name in tables[DEVICE].dtype.names or ()}
        record["name"] = file.names.get(record["name"], "")
        yield record
