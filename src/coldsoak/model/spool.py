"""Records that the agent writes while the measured program runs; ``docs/spool.md`` explains them.

One JSON array a line, the tag first. Times are CLOCK_MONOTONIC in nanoseconds, which on Linux is
one clock for all processes. Threads are kernel thread ids.
"""

from __future__ import annotations

from typing import Any, Union

import msgspec
from typing_extensions import dataclass_transform

__all__ = ["DECODER", "PROTOCOL", "Record"]

PROTOCOL = 1
"""Version of the records; the agent writes it in its first record."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class _Array(msgspec.Struct, frozen=True, array_like=True):
    pass


class Process(_Array, tag="process"):
    """First record of every file."""

    protocol: int
    pid: int
    ppid: int
    thread: int
    begin_ns: int
    """First line of the agent."""
    python: str
    executable: str
    argv: list[str]
    """As typed (``sys.orig_argv``)."""
    cwd: str
    how: str
    """script | module | command | stdin | interactive | fork | other"""
    starttime_ticks: int
    """Field 22 of /proc/PID/stat: start of the process in clock ticks since boot; 0 if unknown."""
    rank: str = ""
    """Number that torchrun, MPI or Slurm gave it among its like; empty without one."""


class Phase(_Array, tag="phase"):
    """A moment of the process's life.

    ``agent_ready`` (the agent has started), ``main_start`` (first line of the user's program),
    ``main_end`` (its last line; ``detail`` is ``returned``, ``ended`` or the exception's type),
    ``rerun_start`` (``detail`` is the number), ``exit`` (last thing that atexit runs).
    """

    name: str
    ns: int
    thread: int
    detail: str = ""


class Site(_Array, tag="site"):
    """A place in the user's source that reads a clock."""

    id: int
    file: str
    line: int
    function: str
    clock: str
    """Text of the call as written, e.g. ``time.perf_counter``."""


class Key(_Array, tag="key"):
    """What tells one use of a region from another."""

    id: int
    stack: list[tuple[str, int, str]]
    """User frames, innermost first: file, line, function."""
    case: list[tuple[str, str]]
    """Short local values that name the case: (name, repr)."""


class Reading(_Array, tag="reading"):
    """One reading of a clock by the user's own code."""

    id: int
    """Counts up from 0 in each process."""
    site: int
    key: int
    thread: int
    ns: int
    value: float
    """What the program got, in seconds of its own clock."""


class Region(_Array, tag="region"):
    """A subtraction of two clock readings, by value."""

    start: int
    """Id of the start reading, or -1 for a region without readings (timeit, declared)."""
    end: int
    key: int
    thread: int
    start_ns: int
    end_ns: int
    seconds: float
    """Difference in the user's own clock."""
    kind: str
    """clock | declared | timeit | bench"""
    name: str = ""
    """Of a declared region."""
    ready_ns: int = 0
    """When the device was done, measured by a forced synchronise; 0 when not asked."""
    loops: int = 1
    """Executions that the two readings enclose (``timeit``'s number)."""


class Imported(_Array, tag="import"):
    """One module that was found and executed; written innermost first."""

    name: str
    thread: int
    start_ns: int
    end_ns: int
    depth: int
    """0 for an import statement of the program, 1 for one inside it, and so on."""
    file: str
    compile_ns: int
    """Spent compiling source of this module itself because no usable bytecode was found."""
    gc_ns: int
    """Spent in the garbage collector during this module, nested modules included."""
    error: str = ""


class Span(_Array, tag="span"):
    """A stretch of time on one thread that a source can name.

    Of the source ``point``, a moment with a ``value`` in ``args``.
    """

    source: str
    name: str
    thread: int
    start_ns: int
    end_ns: int
    args: dict[str, Any] = {}


class Child(_Array, tag="child"):
    """The process started another one (audit hook, fork hook)."""

    thread: int
    ns: int
    how: str
    """fork | exec | spawn"""
    argv: list[str]
    pid: int = 0


class Source(_Array, tag="source"):
    """A source of evidence says how it fares; the last record of a name counts."""

    name: str
    state: str
    """on | off | lost"""
    reason: str = ""
    cost_ns: int = 0
    lost: int = 0


class Cost(_Array, tag="cost"):
    """Time that the agent itself took on a thread of the program."""

    what: str
    thread: int
    start_ns: int
    end_ns: int


class Note(_Array, tag="note"):
    """Something the user should hear about the measurement itself.

    Of the code ``data``, a JSON object for programs.
    """

    code: str
    text: str


class File(_Array, tag="file"):
    """A bulk file beside the spool: perf rings, CUPTI records."""

    kind: str
    path: str
    info: dict[str, Any] = {}


Record = Union[
    Process, Phase, Site, Key, Reading, Region, Imported, Span, Child, Source, Cost, Note, File
]

DECODER = msgspec.json.Decoder(Record)
"""Decodes one line; raises ``msgspec.DecodeError`` on anything else."""
