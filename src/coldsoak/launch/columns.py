"""Builds the columns of a trace: texts interned, threads numbered, times made relative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coldsoak.model.trace import DeviceOps, Events, OffCpu, Samples, Spans, Track, pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Columns", "describe"]


_LEAST = -(1 << 63)
"""Smallest number of a column; the largest is one less than its opposite."""


def describe(args: Mapping[str, Any]) -> str:
    """Return a span's arguments as ``key=value, key=value``; the form that rules read."""
    return ", ".join(f"{key}={value}" for key, value in args.items())


class Columns:
    """Collects a trace's rows. Times go in as CLOCK_MONOTONIC ns and come out since ``t0_ns``."""

    def __init__(self, t0_ns: int) -> None:
        self.t0 = t0_ns
        self._strings: dict[str, int] = {}
        self._tracks: dict[tuple[int, int], int] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._spans: list[tuple[int, int, int, int, int, int, int]] = []
        self._device: list[tuple[int, ...]] = []
        self._samples: list[tuple[int, int, int]] = []
        self._off: list[tuple[int, int, int, int]] = []
        self._events: list[tuple[int, int, int, int, int]] = []

    def string(self, text: str) -> int:
        """Return the index of a text; -1 for an empty one."""
        if not text:
            return -1
        return self._strings.setdefault(text, len(self._strings))

    def track(self, pid: int, tid: int) -> int:
        """Return the index of a thread; ``tid`` 0 is the process as a whole."""
        return self._tracks.setdefault((pid, tid), len(self._tracks))

    def name_track(self, pid: int, tid: int, name: str) -> None:
        """Give a thread its name; the last one counts."""
        self._names[pid, tid] = name

    def span(
        self,
        track: int,
        source: str,
        name: str,
        times: tuple[int, int],
        *,
        detail: str = "",
        correlation: int = 0,
    ) -> None:
        """Add a stretch on a thread; ``times`` are its start and end."""
        texts = self.string(source), self.string(name), self.string(detail)
        start, end = times
        self._spans.append((start - self.t0, end - self.t0, track, *texts, correlation))

    def device(
        self,
        pid: int,
        kind: str,
        name: str,
        times: tuple[int, int],
        *,
        place: tuple[int, int],
        moved: int,
        correlation: int,
    ) -> None:
        """Add work on a device; ``times`` are start and end, ``place`` is (device, stream)."""
        texts = self.string(kind), self.string(name)
        start, end = (time - self.t0 for time in times)
        self._device.append((start, end, pid, *place, *texts, moved, correlation))

    def sample(self, time: int, track: int, stack: int) -> None:
        """Add a host sample."""
        self._samples.append((time - self.t0, track, stack))

    def off_cpu(self, start: int, end: int, track: int, *, runnable: bool) -> None:
        """Add an interval without a CPU."""
        self._off.append((start - self.t0, end - self.t0, track, int(runnable)))

    def event(self, time: int, track: int, kind: str, value: int, name: str = "") -> None:
        """Add a moment with a value."""
        row = time - self.t0, track, self.string(kind), value, self.string(name)
        self._events.append(row)

    @property
    def strings(self) -> tuple[str, ...]:
        """All texts in the order of their indices."""
        return tuple(self._strings)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """All threads in the order of their indices."""
        return tuple(
            Track(pid=pid, tid=tid, name=self._names.get((pid, tid), ""), main=pid == tid)
            for pid, tid in self._tracks
        )

    def spans(self) -> Spans:
        """Return the spans by start, outer ones first."""
        self._spans.sort(key=lambda row: (row[0], -row[1]))
        start, end, track, source, name, detail, correlation = _columns(self._spans, 7)
        return Spans(
            start=start,
            end=end,
            track=track,
            source=source,
            name=name,
            detail=detail,
            correlation=correlation,
        )

    def device_ops(self) -> DeviceOps:
        """Return device work by start."""
        self._device.sort()
        start, end, pid, device, stream, kind, name, moved, correlation = _columns(self._device, 9)
        return DeviceOps(
            start=start,
            end=end,
            pid=pid,
            device=device,
            stream=stream,
            kind=kind,
            name=name,
            bytes_moved=moved,
            correlation=correlation,
        )

    def samples(self, period_ns: int) -> Samples:
        """Return the samples by time."""
        self._samples.sort()
        time, track, stack = _columns(self._samples, 3)
        return Samples(time=time, track=track, stack=stack, period_ns=period_ns)

    def off_cpus(self) -> OffCpu:
        """Return the intervals by start."""
        self._off.sort()
        start, end, track, runnable = _columns(self._off, 4)
        return OffCpu(start=start, end=end, track=track, runnable=runnable)

    def events(self) -> Events:
        """Return the events by time."""
        self._events.sort()
        time, track, kind, value, name = _columns(self._events, 5)
        return Events(time=time, track=track, kind=kind, value=value, name=name)


def _columns(rows: Sequence[tuple[int, ...]], count: int) -> list[bytes]:
    """Pack rows by column; one with a number that no column holds is of a damaged record."""
    try:
        packed = [pack(column) for column in zip(*rows, strict=True)]
    except OverflowError:
        return _columns([row for row in rows if all(_LEAST <= n < -_LEAST for n in row)], count)
    return packed or [b""] * count
