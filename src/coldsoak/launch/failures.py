"""Launches that went wrong: what to call them, when to replace them, when to give up."""

from __future__ import annotations

import re
import shlex
import shutil
from typing import TYPE_CHECKING

import msgspec

from coldsoak.errors import CommandFailed
from coldsoak.launch.redact import redact_command
from coldsoak.model.result import Arm, Launch, Note

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["REPLACED_SHARE", "Replacements", "accept", "command_failed", "describe", "last_words"]

REPLACED_SHARE = 0.2
"""Share of the launches that may be replaced."""
_ALWAYS_GRANTED = 2
"""So many may be replaced whatever their share: the first round alone is five launches or fewer."""
_TAIL_LINES = 8
_KNOWN = (
    (
        re.compile(
            r"explicitly assigned to \S+ but available devices|Could not satisfy device specification"
        ),
        "coldsoak explain device-not-there",
    ),
    (
        re.compile(r"No module named '"),
        "the interpreter in whose environment it is installed, by its path",
    ),
    (re.compile(r"can't open file '.*No such file"), ""),
    (
        re.compile(
            r"not compiled with CUDA enabled|invalid device ordinal|Found no NVIDIA driver"
            r"|No CUDA GPUs are available|Unknown backend|Unable to initialize backend"
        ),
        "coldsoak devices",
    ),
    (
        re.compile(
            r"module 'tensorflow' has no attribute '(?:Session|InteractiveSession|placeholder"
            r"|ConfigProto|random_\w+|get_variable|global_variables_initializer|app|flags|contrib)'"
        ),
        "coldsoak run --tf1 runs scripts for TensorFlow 1",
    ),
)
"""What failures look like of which more can be said, and what to type."""

_LEAST_FREE = 64 << 10
"""Bytes free on a disk below which it is called full."""

_BUSY = "other programs used"
_BUSY_NOTE = (
    "other programs used most of the CPU time; the launch counts, because the machine is busy all "
    "the time"
)


def describe(launch: Launch) -> str:
    """Say in a few words what was wrong with a launch."""
    return launch.invalid or launch.status


def last_words(launch: Launch, lines: int = _TAIL_LINES) -> str:
    """Return what a bench worker said was wrong, else the last lines of the output."""
    if isinstance(told := launch.data.get("error"), dict):
        said = " ".join(str(told[key]) for key in ("what", "why") if told.get(key))
        if said:
            return said
    tail = [line for line in launch.tail if line.strip()][-lines:]
    return "\n".join(tail) if tail else "it printed nothing"


def accept(launch: Launch) -> Launch:
    """Return a launch with a non-zero exit status as a valid one (``--ignore-failure``)."""
    if launch.status != "failed" or not launch.exit_code:
        return launch
    note = Note(code="failure_ignored", text=f"exit status {launch.exit_code} was ignored")
    return msgspec.structs.replace(launch, status="ok", invalid="", notes=(*launch.notes, note))


def command_failed(arm: Arm, launch: Launch, folder: Path) -> CommandFailed:
    """Return the error for a command that fails in its very first launch."""
    typed = shlex.join(redact_command(arm.argv)).replace("\n", "↵")
    command = typed if arm.case is None else arm.name
    words = last_words(launch)
    return CommandFailed(
        f"{command} failed in launch {launch.index}: {describe(launch)}.",
        why=f"{words}\nThe whole output is in {folder / launch.log}." if launch.log else words,
        do=_full(folder) or _advice(arm, launch, words),
    )


def _full(folder: Path) -> str:
    """Return what to do about a disk that is full: a program that cannot print may fail of that."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return ""
    room = f"make room: the disk of {folder} is full, and a program that cannot print may fail"
    return room if free < _LEAST_FREE else ""


def _advice(arm: Arm, launch: Launch, words: str) -> str:
    """Return what to type; a worker of a bench has said so itself, and has no such options."""
    if isinstance(told := launch.data.get("error"), dict) and told.get("do"):
        return str(told["do"])
    if launch.status == "timeout":
        longer = "--timeout SECONDS gives it longer"
        ready = "; --until region:NAME, port:P, http:URL or log:REGEX is for one that does not end"
        return longer + ready * (arm.case is None and "was not met" not in launch.invalid)
    for pattern, advice in _KNOWN:
        if pattern.search(words):
            return advice
    if launch.status == "failed" and launch.exit_code and arm.case is None:
        return "coldsoak run --ignore-failure measures it all the same"
    return ""


class Replacements:
    """Counts the launches that were replaced; at most 20 % of a session are.

    A machine on which others are busy all the time (in round 0 already, or until the allowance is
    used up) would leave nothing: there, launches that only share the CPU are kept, with a note.
    """

    def __init__(self) -> None:
        self.count = 0
        self._busy_kept = False

    def tolerate(self, launch: Launch) -> Launch:
        """Return the launch as valid if all that is wrong is a machine that is always busy."""
        if launch.status != "ok" or not self._only_busy(launch):
            return launch
        self._busy_kept = self._busy_kept or launch.round == 0
        if not self._busy_kept:
            return launch
        note = Note(code="machine_busy", text=_BUSY_NOTE)
        return msgspec.structs.replace(launch, invalid="", notes=(*launch.notes, note))

    def grant(self, launch: Launch, *, valid: int) -> bool:
        """Tell whether an invalid launch may be replaced when ``valid`` ones were had."""
        self.count += 1
        allowed = max(_ALWAYS_GRANTED, REPLACED_SHARE * (valid + self.count))
        if self.count <= allowed:
            return True
        if launch.status == "ok" and self._only_busy(launch):
            self._busy_kept = True
            return True
        return False

    @staticmethod
    def _only_busy(launch: Launch) -> bool:
        return launch.invalid.startswith(_BUSY)
