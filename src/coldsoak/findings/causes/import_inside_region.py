"""Imports inside the timed region

The first run of the region imports modules: its first call is slow for that, and not for what it
computes. torch.compile, TensorFlow and many others import large parts of themselves at first use.

It fires when imports take at least 20 ms and a tenth of run 0 of a region, and none of its later
runs, in the traced launches.

Importing the modules before the clock starts gives the region its own time back. The process as a
whole is not faster for it: the time moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import stake, worth
from coldsoak.findings.words import plural, seconds_text, share_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "import-inside-region"
SEVERITY: Severity = "cause"

_SHARE = 0.1
_IMPORTS = (Cause.IMPORT_PYTHON, Cause.IMPORT_BYTECODE_COMPILE)


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each region whose first run imports."""
    for arm, series, _ in view.each():
        if series.kind == "bench":
            continue
        cost = stake(view, arm, *_IMPORTS, series=series.id)
        if cost is None or not worth(cost, share=_SHARE):
            continue
        modules = [label for label, _, _ in cost.items if _is_module(label)]
        count = max((one.modules.get(series.id, 0) for one in view.facts(arm)), default=0)
        tops = tuple(dict.fromkeys(label.partition(".")[0] for label in modules))
        file, line = view.place(series.start)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"The first run of {view.name(series.id)} spends {seconds_text(cost.seconds)}, "
                f"{share_text(cost.share)} of it, importing "
                + (plural(count, "module") if count else "modules")
                + (f" of {', '.join(tops[:3])}." if tops else ".")
            ),
            evidence=(
                f"{cost.text}",
                *((f"largest: {cost.named()}",) if modules else ()),
            ),
            advice=tuple(f"import {name}  # above line {line}" for name in modules[:2]),
            settle="It moves the time and does not remove it: compare the time to the first result.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=cost.seconds,
        )


def _is_module(label: str) -> bool:
    """Tell a module from a library or a symbol, which host samples name."""
    return ".so" not in label and all(part.isidentifier() for part in label.split("."))
