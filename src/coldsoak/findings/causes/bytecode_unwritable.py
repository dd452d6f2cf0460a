"""Bytecode is compiled and cannot be kept

Python compiled modules in every launch although nothing forbids it to keep the result: the folder
of the packages cannot be written, or its bytecode does not match the sources. Read-only images and
packages that another user installed are the usual places.

It fires when the imports of the program spent at least 20 ms compiling, median over the timed
launches, which follow each other: the second would have found what the first wrote. It stays silent
with `--cold bytecode`.

Let PYTHONPYCACHEPREFIX point to a folder that stays and can be written, or compile when the image
is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.bytecode import compiled
from coldsoak.findings.stakes import emptied, fix
from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "bytecode-unwritable"
SEVERITY: Severity = "cause"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm whose bytecode does not stay."""
    for arm in view.result.arms:
        seen = compiled(view, arm.name)
        env = view.env(arm.name)
        if seen is None or env.get("PYTHONDONTWRITEBYTECODE") or emptied(view, "bytecode", "disk"):
            continue
        prefix = env.get("PYTHONPYCACHEPREFIX", "")
        where = f"PYTHONPYCACHEPREFIX is {prefix}" if prefix else "its folder cannot be written"
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Compiling imported modules takes {seconds_text(seen.seconds)} of every process; "
                "no launch found what an earlier one compiled."
            ),
            evidence=(f"{seen.named} ({plural(seen.launches, 'timed launch', 'timed launches')})",),
            advice=(
                "export PYTHONPYCACHEPREFIX=$HOME/.cache/pycache",
                fix(view, "py.pyc"),
            ),
            confidence="likely",
            settle=f"The reason is not in the result; most likely {where}: coldsoak doctor",
            arm=arm.name,
            seconds=seen.seconds,
        )
