"""Waiting for a lock file

Builders of extensions and kernels hold a lock file so that one process builds and the others wait.
A build that was killed leaves the file behind, and whoever comes next waits for ever, without a word
and without using the CPU.

It fires when a process waits for a file lock for at least 0.2 s, or when building an extension of
PyTorch takes that long and no compiler runs meanwhile: then it polls a left-over file.

Delete the lock when no build is running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "stale-lock"
SEVERITY: Severity = "cause"

_LEAST_S = 0.2
_BUILDERS = ("ninja", "nvcc", "cc1", "gcc", "g++", "c++", "clang", "cicc", "ptxas")


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that waits for a lock file."""
    for arm in view.result.arms:
        launches = max(len(view.facts(arm.name)), 1)
        locked = view.events(arm.name, "wait", "lock file")
        seconds = sum(event.ns for event in locked) / 1e9 / launches
        if seconds >= _LEAST_S:
            yield _finding(view, arm.name, seconds, "a file lock (flock or fcntl)", sure=True)
            continue
        built = view.events(arm.name, "torch", "cpp_extension")
        seconds = sum(event.ns for event in built) / 1e9 / launches
        compilers = [event for event in view.events(arm.name, "child") if event.name in _BUILDERS]
        if seconds >= _LEAST_S and not compilers:
            names = [text for event in built for text in event.details]
            what = f"the lock of the extension {names[0]}" if names else "the lock of an extension"
            yield _finding(view, arm.name, seconds, what, sure=False)


def _finding(view: View, arm: str, seconds: float, what: str, *, sure: bool) -> Finding:
    launches = plural(len(view.facts(arm)), "traced launch", "traced launches")
    return Finding(
        code=CODE,
        severity="warning",
        text=f"The program waits {seconds_text(seconds)} for {what}.",
        evidence=(f"measured in {launches}; no compiler ran meanwhile" if not sure else launches,),
        advice=("find ~/.cache/torch_extensions -name lock -mmin +10",),
        confidence="measured" if sure else "likely",
        settle="" if sure else "A file called lock in the extension's folder, older than this run.",
        arm=arm,
        seconds=seconds,
    )
