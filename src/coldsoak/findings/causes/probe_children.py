"""Child processes ask what the CPU can do

Before torch.compile generates C++ it builds small programs for each set of vector instructions and
starts a Python process that imports torch to see whether they run: ten of them, 16 s in each process
with torch 2.11 on one machine, even when everything else comes from the cache. torch 2.13 asks without
importing torch, 2.14 keeps the answers.

It fires when the launch starts Python children with `-c` that import torch or load a library, and
they take at least 100 ms together.

The answers do not change on one machine: `torch.isa_replay` records them. TORCHINDUCTOR_VEC_ISA_OK=1
spares a part of the questions and changes the keys of the compile cache once.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.stakes import fix
from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Launch

CODE = "probe-children"
SEVERITY: Severity = "cause"

_LEAST_S = 0.1


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm whose launches start probes."""
    for arm in view.result.arms:
        rows = [_probes(launch) for launch in view.launches(arm.name)]
        if not rows or not all(rows):
            continue
        seconds = median(sum(ns for _, ns in row) for row in rows) / 1e9
        if seconds < _LEAST_S:
            continue
        count = round(median(len(row) for row in rows))
        longest = max(rows[0], key=lambda pair: pair[1])
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Each process starts {plural(count, 'Python child', 'Python children')} that only "
                f"try whether generated code loads; they run for {seconds_text(seconds)} together."
            ),
            evidence=(
                f"the longest, {seconds_text(longest[1] / 1e9)}: {longest[0]}",
                f"in each of {plural(len(rows), 'timed launch', 'timed launches')}",
            ),
            advice=(fix(view, "torch.isa_replay"),),
            arm=arm.name,
            seconds=seconds,
        )


def _probes(launch: Launch) -> list[tuple[str, int]]:
    """Return (command in one line, ns) of the children that are probes."""
    lives = [(one.argv, one.start_ns, one.end_ns) for one in launch.processes]
    lives += [(one.argv, one.start_ns, one.end_ns) for one in launch.children]
    return [
        (" ".join(" ".join(argv[1:]).split())[:90], end - start)
        for argv, start, end in lives
        if end is not None and _is_probe(argv)
    ]


def _is_probe(argv: tuple[str, ...]) -> bool:
    text = " ".join(argv[2:])
    return argv[1:2] == ("-c",) and ("LoadLibrary" in text or "import torch" in text)
