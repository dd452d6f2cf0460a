"""The work ran on another device than the region names

The region runs with a device as its case, but the trace shows that its work was done elsewhere:
nothing was queued on the card that it names, or the card worked for a region that names the CPU.

It fires when CUPTI recorded the launch, other regions or the region itself show what the card does,
and no run of a region that names a GPU queued a single kernel, or every later run of a region that
names the CPU queued some.

Print the device of the result, not the one that was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.patterns import devices_of
from coldsoak.findings.words import plural
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "silent-placement"
SEVERITY: Severity = "mistake"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each region whose work was done on the other kind of device."""
    if not view.gpus:
        return
    for arm, series, _ in view.each():
        kinds = {kind for _, (kind, _) in devices_of(series)}
        facts = view.facts(arm)
        if len(kinds) != 1 or not facts or not all(one.device_seen for one in facts):
            continue
        wanted = kinds.pop()
        counts = [w.kernel_count for row in view.work(arm, series.id) for w in row[1:] or row]
        if wanted == "gpu" and not any(counts):
            yield _finding(view, arm, series, "no kernel ran on the card in any of its runs")
        elif wanted == "cpu" and counts and all(counts):
            seen = f"the card ran {plural(min(counts), 'kernel')} or more in each of its later runs"
            yield _finding(view, arm, series, seen)


def _finding(view: View, arm: str, series: Series, seen: str) -> Finding:
    text = next(text for text, _ in devices_of(series))
    file, line = view.place(series.start)
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=f"The region runs with {text}, but {seen}.",
        file=file,
        line=line,
        series=series.id,
        arm=arm,
    )
