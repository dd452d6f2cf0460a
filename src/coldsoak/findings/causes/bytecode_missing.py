"""Modules are compiled again in each process

Python compiles a module without bytecode each time it imports it. Here the environment forbids it
to keep the result: PYTHONDONTWRITEBYTECODE is set, a popular line in container images.

It fires when the imports of the program spent at least 20 ms compiling, median over the timed
launches, and the variable is set. It stays silent with `--cold bytecode`.

Compile once when the image is built: `python -m compileall` on the site-packages folder. The
variable may then stay.
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

CODE = "bytecode-missing"
SEVERITY: Severity = "cause"


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that may not keep bytecode."""
    for arm in view.result.arms:
        seen = compiled(view, arm.name)
        kept = view.env(arm.name).get("PYTHONDONTWRITEBYTECODE", "") == ""
        if seen is None or kept or emptied(view, "bytecode", "disk"):
            continue
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Compiling imported modules takes {seconds_text(seen.seconds)} of every process, "
                "as PYTHONDONTWRITEBYTECODE keeps Python from saving bytecode."
            ),
            evidence=(f"{seen.named} ({plural(seen.launches, 'timed launch', 'timed launches')})",),
            advice=(f"{seen.python} -m compileall -q SITE-PACKAGES", fix(view, "py.pyc")),
            arm=arm.name,
            seconds=seen.seconds,
        )
