"""Runs a program with the real agent, traced, and reads the trace back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import coldsoak
from coldsoak.launch.spoolfile import records
from coldsoak.launch.trace import build
from coldsoak.model.result import Launch
from coldsoak.model.trace import Trace, unpack

INJECT = Path(coldsoak.__file__).parent / "inject"
VICTIMS = Path(__file__).parents[2] / "victims"


@dataclass(frozen=True)
class Seen:
    """A trace with its texts resolved."""

    trace: Trace
    records: list

    def rows(self, table, *names):
        texts = {"source", "name", "detail", "kind"}
        columns = [unpack(getattr(table, name)) for name in names]
        named = [
            [self.text(value) for value in column] if name in texts else column
            for name, column in zip(names, columns, strict=True)
        ]
        return list(zip(*named, strict=True))

    def text(self, index):
        return self.trace.strings[index] if index >= 0 else ""

    def spans(self, source):
        """(name, detail, milliseconds) of a source's spans."""
        rows = self.rows(self.trace.spans, "source", "name", "detail", "start", "end")
        return [(n, d, (end - start) / 1e6) for s, n, d, start, end in rows if s == source]

    def events(self, kind):
        rows = self.rows(self.trace.events, "kind", "name", "value")
        return [(name, value) for k, name, value in rows if k == kind]

    def leaves(self, pid=None):
        """(library, symbol) of the innermost frame of each sample."""
        library, symbol = unpack(self.trace.frames.library), unpack(self.trace.frames.symbol)
        tracks = self.trace.tracks
        pairs = zip(unpack(self.trace.samples.track), unpack(self.trace.samples.stack), strict=True)
        frames = [self.trace.frames.stacks[s][0] for t, s in pairs if pid in (None, tracks[t].pid)]
        return [(self.text(library[frame]), self.text(symbol[frame])) for frame in frames]

    def state(self, name):
        return next(source for source in self.trace.sources if source.name == name)


@pytest.fixture
def traced(tmp_path):
    """Run ``victim`` (a file of tests/victims or code) and return what was seen."""

    def run(victim, *args, sources="perf,io", env=None, user=None, python=sys.executable):
        folder = tmp_path / "spool"
        folder.mkdir()
        folder.chmod(0o777)
        code = ["-c", victim] if "\n" in victim else [str(VICTIMS / victim)]
        t0 = time.monotonic_ns()
        contract = {
            "PYTHONPATH": str(INJECT),
            "COLDSOAK_SPOOL": str(folder),
            "COLDSOAK_MODE": "traced",
            "COLDSOAK_T0": str(t0),
            "COLDSOAK_SOURCES": sources,
        }
        done = subprocess.run(
            [python, *code, *args],
            env={**os.environ, **contract, **(env or {})},
            user=user,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        spools = [list(records(path)) for path in sorted(folder.glob("*.jsonl"))]
        spools.sort(key=lambda file: file[0].begin_ns)
        launch = Launch(index=0, round=0, arm="base", kind="traced")
        return Seen(build(spools, launch=launch, folder=folder, t0_ns=t0), spools)

    return run


@pytest.fixture
def sampled(traced):
    """As ``traced``; skips where this machine lets nobody sample."""

    def run(*args, **kwargs):
        seen = traced(*args, **kwargs)
        state = seen.state("perf")
        if state.state == "off":
            pytest.skip(f"perf: {state.reason}")
        return seen

    return run


@pytest.fixture
def kernel_stacks():
    """Skip where kernel symbols may not be read: waits then have no reason."""
    try:
        text = Path("/proc/kallsyms").read_text(encoding="ascii", errors="replace")
    except OSError:
        text = ""
    if not any(line.strip("0 ")[:1] not in ("", "t", "T") for line in text.splitlines()[:50]):
        pytest.skip("kernel symbols are hidden from this user")
