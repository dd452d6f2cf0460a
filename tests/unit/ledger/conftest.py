"""A hand for making small traces whose ledger can be computed in one's head."""

from __future__ import annotations

import pytest

from coldsoak.model.result import Execution, Launch, Process
from coldsoak.model.trace import (
    DeviceOps,
    Events,
    Frames,
    OffCpu,
    Samples,
    Spans,
    Trace,
    TraceProcess,
    Track,
    pack,
)

MS = 1_000_000
PID = 100


def table(kind, rows, width, **fields):
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    names = [name for name in kind.__struct_fields__ if name not in {"period_ns", "stacks"}]
    return kind(**dict(zip(names, map(pack, columns), strict=True)), **fields)


class Maker:
    """Collects records; times in milliseconds, threads by number, the main one is 0."""

    def __init__(self):
        self.strings, self.tracks, self.frames, self.stacks = [], [], [], []
        self.spans, self.ops, self.samples, self.offs, self.events = [], [], [], [], []
        self.children, self.runs, self.wall, self.process = [], [], 1000, None
        self.track(0)

    def text(self, value):
        if value not in self.strings:
            self.strings.append(value)
        return self.strings.index(value)

    def track(self, thread):
        key = (PID, 0 if thread is None else PID + thread)
        if key not in self.tracks:
            self.tracks.append(key)
        return self.tracks.index(key)

    def span(self, source, name, start, end, *, thread=0, link=0):
        texts = self.text(source), self.text(name), -1
        row = int(start * MS), int(end * MS), self.track(thread), *texts, link
        self.spans.append(row)
        return self

    def op(self, kind, name, start, end, *, moved=0, link=0):
        row = int(start * MS), int(end * MS), PID, 0, 7, self.text(kind), self.text(name)
        self.ops.append((*row, moved, link))
        return self

    def sample(self, time, *frames, thread=0):
        """Frames leaf first, each ``library:symbol``."""
        numbers = []
        for frame in frames:
            pair = tuple(map(self.text, frame.split(":", 1)))
            if pair not in self.frames:
                self.frames.append(pair)
            numbers.append(self.frames.index(pair))
        self.stacks.append(tuple(numbers))
        self.samples.append((int(time * MS), self.track(thread), len(self.stacks) - 1))
        return self

    def sampled(self, start, end, *frames, thread=0):
        """One sample a millisecond, in the middle."""
        for i in range(int(start), int(end)):
            self.sample(i + 0.5, *frames, thread=thread)
        return self

    def off(self, start, end, *, thread=0, runnable=False):
        self.offs.append((int(start * MS), int(end * MS), self.track(thread), int(runnable)))
        return self

    def event(self, kind, time, value, *, thread=0):
        self.events.append((int(time * MS), self.track(thread), self.text(kind), value, -1))
        return self

    def child(self, argv, start, end, *, cpu=None, thread=0, pid=500):
        self.children.append(
            TraceProcess(
                pid=pid,
                ppid=PID,
                argv=tuple(argv.split()),
                start_ns=int(start * MS),
                end_ns=int(end * MS),
                cpu_ns=None if cpu is None else int(cpu * MS),
                parent_thread=PID + thread,
            )
        )
        return self

    def run(self, start, end, *, series="s", thread=0):
        index = sum(1 for each in self.runs if each.series == series)
        self.runs.append(
            Execution(
                series=series,
                run=index,
                pid=PID,
                thread=PID + thread,
                start_ns=int(start * MS),
                end_ns=int(end * MS),
                seconds=(end - start) / 1e3,
            )
        )
        return self

    def trace(self, **fields):
        return Trace(
            launch=3,
            arm="arm",
            strings=tuple(self.strings),
            tracks=tuple(Track(pid=p, tid=t, main=p == t) for p, t in self.tracks),
            processes=(TraceProcess(pid=PID, ppid=1, argv=("python",), agent=True), *self.children),
            spans=table(Spans, self.spans, 7),
            device=table(DeviceOps, self.ops, 9),
            samples=table(Samples, self.samples, 3, period_ns=MS),
            frames=table(Frames, self.frames, 2, stacks=tuple(self.stacks)),
            off_cpu=table(OffCpu, self.offs, 4),
            events=table(Events, self.events, 5),
            **fields,
        )

    def launch(self):
        process = self.process or Process(
            pid=PID,
            ppid=1,
            argv=("python",),
            how="script",
            python="3.12",
            executable="python",
            start_ns=0,
            ready_ns=0,
            agent_ns=0,
        )
        return Launch(
            index=3,
            round=1,
            arm="arm",
            kind="traced",
            wall_ns=self.wall * MS,
            processes=(process,),
            executions=tuple(self.runs),
        )

    def ledgers(self, **fields):
        from coldsoak import ledger

        return ledger.attribute(self.trace(**fields), self.launch())

    def causes(self, **fields):
        """Milliseconds by cause in the first ledger, without those of no length."""
        first = self.ledgers(**fields)[0]
        found = {line.cause.value: line.ns / MS for line in first.lines if line.ns}
        if first.measurement_ns:
            found["measurement"] = first.measurement_ns / MS
        return found


@pytest.fixture
def make():
    """Return a maker of traces with one region of 100 ms on the main thread."""
    return Maker().run(0, 100)
