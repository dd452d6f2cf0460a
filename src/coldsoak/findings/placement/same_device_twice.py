"""Two names stand for the same device

The program compares a device with itself: `GPU:0` and `XLA_GPU:0` are one card under two names, and
so are `cuda` and `cuda:0`. The region that runs second finds the card warm.

It fires when the cases of one region name a device in two ways that differ in more than a prefix.

Keep one name. In TensorFlow use `/device:GPU:0`: the XLA devices of TensorFlow 1 were made for
testing the compiler.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import devices_of
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "same-device-twice"
SEVERITY: Severity = "warning"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each region that runs twice on a device under different names."""
    groups: dict[tuple[str, object, object], list[Series]] = defaultdict(list)
    for arm, series, _ in view.each():
        key = arm, series.start, series.end
        groups[key].append(series)
    for (arm, _, _), group in groups.items():
        names: dict[tuple[str, int], dict[str, Series]] = defaultdict(dict)
        for series in group:
            for text, device in devices_of(series):
                names[device].setdefault(text.removeprefix("/device:").lstrip("/"), series)
        for known in names.values():
            if len(known) > 1:
                yield _finding(view, arm, known)


def _finding(view: View, arm: str, known: dict[str, Series]) -> Finding:
    names = sorted(known)
    series = known[names[-1]]
    file, line = view.place(series.start)
    keep = next((name for name in names if "XLA" not in name), names[0])
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=f"{' and '.join(names)} are the same device, so the second one starts warm.",
        advice=(f"Use {keep} and leave the other out.",),
        file=file,
        line=line,
        series=series.id,
        arm=arm,
    )
