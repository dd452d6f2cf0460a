"""The program names a device that does not exist

TensorFlow places operations softly: where a named device does not exist it raises nothing, and the
work runs somewhere else. With soft placement off, and in the sessions of TensorFlow 1 (`--tf1`), the
program fails instead. `XLA_GPU` and `XLA_CPU` were devices of TensorFlow 1; TensorFlow 2 has none of
them, and XLA is asked for with `jit_compile=True` on an ordinary device.

It fires when a TensorFlow 2 program names an XLA device, or runs a region with, or passes to
`tf.device` under no condition, a GPU with a number that the machine has not got.

Name a device that `coldsoak devices` lists, and call `tf.config.set_soft_device_placement(False)`
so that a wrong name is an error.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from coldsoak.findings.patterns import device_of
from coldsoak.findings.words import plural
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.source import Source
    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "device-not-there"
SEVERITY: Severity = "mistake"

_XLA = re.compile(r"(?:/device:|/)?XLA_(GPU|CPU):\d+$")
_SOFT = {"tensorflow"}
"""Frameworks that place operations elsewhere without an error."""


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each device that is named and cannot be there."""
    for arm in view.result.arms:
        if arm.case is not None or not view.packages(arm.name) & _SOFT:
            continue
        known = {name: place for name, place in _named(view, arm.name) if _missing(view, name)}
        for name, (file, line, series) in known.items():
            yield _finding(view, arm.name, name, (file, line), series)


def _named(view: View, arm: str) -> Iterator[tuple[str, tuple[str, int, str]]]:
    """Yield devices with the place that names them; those that a region ran with come last and win."""
    for source in view.files:
        for text, line in source.strings():
            if _XLA.fullmatch(text):
                yield text, (source.file, line, "")
        for text, line in _asked_for(source):
            yield text, (source.file, line, "")
    for owner, series, _ in view.each():
        for value in series.case.values():
            text = value.strip("'\"")
            if owner == arm and device_of(text) is not None:
                file, line = view.place(series.start)
                yield text, (file, line, series.id)


def _asked_for(source: Source) -> Iterator[tuple[str, int]]:
    """Yield the devices that are passed to ``tf.device`` under no condition."""
    guarded = {
        id(child)
        for node in source.walk()
        if isinstance(node, ast.If | ast.IfExp | ast.Try)
        for child in ast.walk(node)
    }
    for dotted, node in source.calls():
        name = node.args[0] if node.args else None
        if dotted.rpartition(".")[2] != "device" or id(node) in guarded:
            continue
        if isinstance(name, ast.Constant) and device_of(str(name.value)) is not None:
            yield str(name.value), node.lineno


def _missing(view: View, name: str) -> bool:
    if _XLA.fullmatch(name):
        return True
    device = device_of(name)
    return device is not None and device[0] == "gpu" and device[1] >= len(view.gpus)


def _finding(view: View, arm: str, name: str, place: tuple[str, int], series: str) -> Finding:
    xla = _XLA.fullmatch(name)
    placed = {device: n for facts in view.facts(arm) for device, n in facts.placements.items()}
    messages = [m for facts in view.facts(arm) for m in facts.messages]
    evidence = []
    if series:
        evidence.append(f"a region ran with {name} and raised nothing")
    if placed:
        most = max(placed, key=lambda device: placed[device])
        evidence.append(f"the log places {plural(placed[most], 'operation')} on {most}")
    if not xla:
        evidence.append(f"the machine has {plural(len(view.gpus), 'GPU')}")
    if messages and not view.gpus:
        evidence.append(messages[0][:120])
    other = f"/device:{xla[1]}:0" if xla else "/device:CPU:0"
    why = (
        f"{name.removeprefix('/device:')} is no device of TensorFlow 2"
        if xla
        else f"There is no {name.removeprefix('/device:')} here"
    )
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=f"{why}: its work runs elsewhere, and nothing says so.",
        evidence=tuple(evidence),
        advice=(
            *(
                (f'with tf.device("{other}"):  # and @tf.function(jit_compile=True)',)
                if xla
                else ()
            ),
            "tf.config.set_soft_device_placement(False)  # makes it an error",
        ),
        confidence="measured" if series else "likely",
        settle="" if series else "tf.debugging.set_log_device_placement(True) shows where it ran.",
        file=place[0],
        line=place[1],
        series=series,
        arm=arm,
    )
