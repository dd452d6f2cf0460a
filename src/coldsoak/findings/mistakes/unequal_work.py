"""Two regions that are compared do not do the same work

The program times the same lines on several devices and prints the figures side by side, but the
region also makes the session or the inputs. That takes another time on each device and has nothing
to do with the computation; or one of the devices brings a compiler of its own.

It fires when a region runs with at least two devices as its case and the source calls a maker of
sessions, inputs or models between the two clock readings, or when one device is an XLA device and
the other is not. It is read from the source, so that it is likely rather than measured.

Make session, inputs and model before the first reading of the clock, warm up each device, and
compare the same compiler.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import devices_of
from coldsoak.findings.products import statements_of
from coldsoak.findings.source import Source, name_of
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "unequal-work"
SEVERITY: Severity = "mistake"

_SESSIONS = {"Session", "InteractiveSession", "InferenceSession"}
_INPUTS = re.compile(
    r"(^|\.)(random_uniform|random_normal|randn?|uniform|standard_normal|random\.normal)$"
)


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each region that compares devices unfairly."""
    groups: dict[tuple[str, str, int, int], list[Series]] = defaultdict(list)
    for arm, series, _ in view.each():
        if series.start and series.end and series.kind != "bench":
            key = arm, series.start.file, series.start.line, series.end.line
            groups[key].append(series)
    for (arm, file, _, _), group in groups.items():
        texts = list(dict.fromkeys(text for s in group for text, _ in devices_of(s)))
        source = view.source(file)
        if len(texts) < 2 or source is None:
            continue
        made = _made_inside(source, group[0])
        xla = [text for text in texts if "XLA" in text]
        mixed = bool(xla) and len(xla) < len(texts) and "tensorflow" not in view.packages(arm)
        if made or mixed:
            yield _finding(arm, group[0], source, made, texts if mixed else [])


def _made_inside(source: Source, series: Series) -> list[tuple[str, int]]:
    """Return what the region makes besides its result: ``("a session", line)``."""
    statements, _ = statements_of(source, series)
    found = []
    for node in (n for statement in statements for n in ast.walk(statement)):
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        if name.rpartition(".")[2] in _SESSIONS:
            found.append(("a session", node.lineno))
        elif _INPUTS.search(name):
            found.append(("its inputs", node.lineno))
    return list({what: (what, line) for what, line in reversed(found)}.values())


def _finding(
    arm: str, series: Series, source: Source, made: list[tuple[str, int]], mixed: list[str]
) -> Finding:
    what = " and ".join(dict.fromkeys(thing for thing, _ in made))
    parts = []
    if made:
        parts.append(f"Each run also makes {what} between the two clock readings")
    if mixed:
        parts.append(f"{' and '.join(mixed)} differ in their compiler, not only in the device")
    evidence = tuple(f"line {line}: {source.line(line)}" for _, line in made[:2])
    line = made[0][1] if made else (series.start.line if series.start else 0)
    advice = (f"Move line {line} in front of the first clock reading.",) if made else ()
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text="; ".join(parts) + ", so the devices' figures cannot be compared.",
        evidence=evidence,
        advice=advice,
        confidence="likely",
        settle="Timing session, inputs and computation apart would settle how much each takes.",
        file=source.file,
        line=line,
        series=series.id,
        arm=arm,
    )
