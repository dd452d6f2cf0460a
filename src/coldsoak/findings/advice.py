"""Lines to write: how each framework waits for its device."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from coldsoak.findings.source import name_of

if TYPE_CHECKING:
    from coldsoak.findings.source import Source
    from coldsoak.findings.view import View
    from coldsoak.model.result import Series

__all__ = ["framework_of", "waiting_lines"]

_WAITS = {
    "torch": "torch.cuda.synchronize()",
    "jax": "jax.block_until_ready({result})",
    "cupy": "cupy.cuda.Device().synchronize()",
    "tensorflow": "tf.test.experimental.sync_devices()",
    "numba": "numba.cuda.synchronize()",
}
_KNOWN = ("torch", "jax", "cupy", "tensorflow", "numba")


def framework_of(view: View, arm: str, source: Source | None = None) -> str:
    """Return the framework that the program computes with; empty when several or none may be."""
    case = view.case(arm)
    if case is not None:
        return case.framework
    packages = view.packages(arm)
    loaded = [name for name in _KNOWN if name in packages]
    if len(loaded) > 1 and source is not None:
        named = [
            n for n in loaded if re.search(rf"^\s*(import|from) {n}\b", source.text, re.MULTILINE)
        ]
        loaded = named or loaded
    return loaded[0] if len(loaded) == 1 else ""


def waiting_lines(view: View, arm: str, series: Series) -> tuple[str, ...]:
    """Return what to write before the second clock reading of ``series``, then that line."""
    site = series.end
    source = view.source(site.file) if site else None
    framework = framework_of(view, arm, source)
    wait = _WAITS.get(framework, "")
    if not wait:
        return ("Wait for the device before the second reading of the clock.",)
    if source is None or site is None:
        return (wait.format(result="the_result"),)
    wait = wait.format(result=_last_result(source, series) or "the_result")
    return (f"{wait}  # before line {site.line}:", source.line(site.line))


def _last_result(source: Source, series: Series) -> str:
    """Return the name that the last assignment inside the region gives its result."""
    if series.start is None or series.end is None:
        return ""
    found = [
        node
        for node in source.between(series.start.line + 1, series.end.line - 1)
        if isinstance(node, ast.Assign)
    ]
    names = [name_of(target) for node in found[-1:] for target in node.targets]
    return names[0] if names else _bare_call(source, series)


def _bare_call(source: Source, series: Series) -> str:
    """Return the last expression of the region when its value is thrown away: wait for that."""
    if series.start is None or series.end is None:
        return ""
    calls = [
        node
        for node in source.between(series.start.line + 1, series.end.line - 1)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ]
    return ast.unparse(calls[-1].value) if calls else ""
