"""A traced launch in columns, ready to be attributed again by a later version.

Columns are little-endian int64 arrays packed as bytes, all of one length in a table. Texts are
interned in ``strings``; -1 stands for none. Times are ns since the spawn of the launch.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable

from coldsoak.model.base import Frozen
from coldsoak.model.result import SourceState

__all__ = [
    "TRACE_FORMAT",
    "DeviceOps",
    "Events",
    "Frames",
    "OffCpu",
    "Samples",
    "Spans",
    "Trace",
    "TraceProcess",
    "Track",
    "pack",
    "unpack",
]

TRACE_FORMAT = 1


def pack(values: Iterable[int]) -> bytes:
    """Return ``values`` as little-endian int64."""
    column = array.array("q", values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def unpack(column: bytes) -> array.array[int]:
    """Return the values of a packed column."""
    values = array.array("q")
    values.frombytes(column)
    if sys.byteorder == "big":
        values.byteswap()
    return values


class Track(Frozen, kw_only=True):
    """A thread; ``tid`` 0 stands for a process as a whole."""

    pid: int
    tid: int
    name: str = ""
    main: bool = False


class Spans(Frozen, kw_only=True):
    """Stretches on one thread that a source can name.

    ``source`` is a string index: ``import``, ``import.find``, ``import.read``, ``import.compile``,
    ``import.exec``, ``dlopen``, ``gc``, ``cuda.driver``, ``cuda.runtime``, ``cuda.overhead``,
    ``cuda.jit``, ``cuda.sync``, ``jax``, ``torch``, ``triton``, ``tensorflow``, ``onednn``,
    ``numba``, ``nvrtc``, ``onnxruntime``, ``wait``, ``child`` or ``cost`` (the tool itself).
    """

    start: bytes = b""
    end: bytes = b""
    track: bytes = b""
    source: bytes = b""
    name: bytes = b""
    detail: bytes = b""
    correlation: bytes = b""
    """CUPTI correlation id that links a call with device work; 0 for none."""


class DeviceOps(Frozen, kw_only=True):
    """Work that ran on a device.

    ``kind`` is a string index: ``kernel``, ``memset``, ``HtoD``, ``DtoH``, ``DtoD``, ``PtoP``, ….
    """

    start: bytes = b""
    end: bytes = b""
    pid: bytes = b""
    device: bytes = b""
    stream: bytes = b""
    kind: bytes = b""
    name: bytes = b""
    bytes_moved: bytes = b""
    correlation: bytes = b""


class Samples(Frozen, kw_only=True):
    """Host samples by CPU time; ``stack`` indexes ``Frames.stacks``."""

    time: bytes = b""
    track: bytes = b""
    stack: bytes = b""
    period_ns: int = 1_000_000


class Frames(Frozen, kw_only=True):
    """Resolved code addresses: ``library`` and ``symbol`` index ``strings``; stacks leaf first."""

    library: bytes = b""
    symbol: bytes = b""
    stacks: tuple[tuple[int, ...], ...] = ()


class OffCpu(Frozen, kw_only=True):
    """Intervals in which a thread was not on a CPU; ``runnable`` 1 when it was preempted."""

    start: bytes = b""
    end: bytes = b""
    track: bytes = b""
    runnable: bytes = b""


class Events(Frozen, kw_only=True):
    """Points in time with a value.

    ``kind`` is a string index: ``fault.minor``, ``fault.major``, ``mmap``, ``alloc``, ``free``,
    ``read_bytes``, ``threads``.
    """

    time: bytes = b""
    track: bytes = b""
    kind: bytes = b""
    value: bytes = b""
    name: bytes = b""


class TraceProcess(Frozen, kw_only=True):
    """A process of the tree, with or without the agent."""

    pid: int
    ppid: int
    argv: tuple[str, ...] = ()
    start_ns: int = 0
    end_ns: int | None = None
    cpu_ns: int | None = None
    agent: bool = False
    parent_thread: int = 0
    """Thread of the parent that started it; 0 when unknown."""


class Trace(Frozen, kw_only=True, omit_defaults=False):
    """All that was seen in one traced launch; the file always says its format."""

    format: int = TRACE_FORMAT
    launch: int
    arm: str
    strings: tuple[str, ...] = ()
    tracks: tuple[Track, ...] = ()
    processes: tuple[TraceProcess, ...] = ()
    spans: Spans = Spans()
    device: DeviceOps = DeviceOps()
    samples: Samples = Samples()
    frames: Frames = Frames()
    off_cpu: OffCpu = OffCpu()
    events: Events = Events()
    sources: tuple[SourceState, ...] = ()
    info: dict[str, str] = {}
    """Facts that rules need: device names, peaks, page-fault price, library paths."""
