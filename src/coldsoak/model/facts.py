"""What findings need of a trace, kept in the result so that an old result can be judged again."""

from __future__ import annotations

from coldsoak.model.base import Frozen

__all__ = ["Card", "Copied", "Event", "Facts", "KernelUse", "Memory", "Repeat", "Work"]


class Card(Frozen, kw_only=True):
    """A device that the launch used, with the most that it can do; 0 where that is not known."""

    index: int
    name: str = ""
    capability: str = ""
    """Compute capability, ``9.0``."""
    multiprocessors: int = 0
    clock_hz: float = 0.0
    """Highest clock of the multiprocessors."""
    memory_bytes: int = 0
    bandwidth: float = 0.0
    """Bytes per second between the device's memory and its processors."""
    peaks: dict[str, float] = {}
    """FLOP/s by way of computing: ``fp32``, ``tf32``, ``fp16``, ``fp64``."""


class KernelUse(Frozen, kw_only=True):
    """One kernel, by its short name."""

    name: str
    count: int
    ns: int


class Copied(Frozen, kw_only=True):
    """Copies of one direction."""

    kind: str
    """``HtoD``, ``DtoH``, ``DtoD``, ``PtoP``, …"""
    count: int
    ns: int
    bytes: int


class Work(Frozen, kw_only=True):
    """The device work that one run of a series queued."""

    series: str
    run: int
    busy_ns: int
    """Time in which at least one operation of this run was executing, over all devices."""
    tail_ns: int
    """From the run's end, as the program's clock has it, to the end of the work that it queued."""
    devices: tuple[int, ...] = ()
    kernels: tuple[KernelUse, ...] = ()
    """At most twelve, most time first."""
    kernel_count: int = 0
    copies: tuple[Copied, ...] = ()


class Memory(Frozen, kw_only=True):
    """Allocations of one kind of memory over the launch, in bytes."""

    kind: str
    """``device``, ``pinned``, ``managed``, …"""
    count: int
    total: int
    largest: int
    largest_ns: int
    """When the largest was made, since the spawn of the launch."""


class Event(Frozen, kw_only=True):
    """Spans of one source and name: compilations, cache look-ups, child processes, waits."""

    source: str
    name: str
    count: int
    ns: int
    details: tuple[str, ...] = ()
    """At most eight different ones, in order of time: reasons, files, architectures, keys."""
    starts: tuple[int, ...] = ()
    """When the first 32 began, ns since the spawn of the launch."""


class Repeat(Frozen, kw_only=True):
    """A function that was traced or compiled more than once in one process."""

    source: str
    name: str
    """Of the spans: ``trace``, ``backend_compile``, ``dynamo``, …"""
    function: str
    count: int
    ns: int
    """Of the spans after the first."""
    starts: tuple[int, ...] = ()
    """When the spans after the first began, at most eight, ns since the spawn of the launch."""
    details: tuple[str, ...] = ()
    """What they say, at most four different texts."""


class Facts(Frozen, kw_only=True):
    """One traced launch in figures."""

    cards: tuple[Card, ...] = ()
    work: tuple[Work, ...] = ()
    """Of the first and the last 25 runs of each series; empty when no device work was seen."""
    device_seen: bool = False
    """CUPTI was on and lost nothing, so that no work means that there was none."""
    kernels: tuple[KernelUse, ...] = ()
    """Of the whole launch, the 24 with the most time."""
    copies: tuple[Copied, ...] = ()
    memory: tuple[Memory, ...] = ()
    events: tuple[Event, ...] = ()
    """The 200 with the most time."""
    repeats: tuple[Repeat, ...] = ()
    """At most 24, most time first."""
    modules: dict[str, int] = {}
    """Modules that run 0 of a series imported, by series."""
    shared_misses: dict[str, int] = {}
    """Keys of compile caches that several processes of the launch looked for in vain, with how many."""
    jit_callers: dict[str, int] = {}
    """Host samples by the library that had the driver compile PTX at that moment."""
    libraries: tuple[str, ...] = ()
    """Paths of the shared libraries that host samples were taken in."""
    placements: dict[str, int] = {}
    """Operations by the device that the log says they were placed on (TensorFlow)."""
    explained: tuple[str, ...] = ()
    """What the log says of why JAX traced a function again (JAX_EXPLAIN_CACHE_MISSES)."""
    messages: tuple[str, ...] = ()
    """Lines of the log about devices that were looked for and not found."""
