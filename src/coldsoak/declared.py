"""Declare what a program computes: ``coldsoak.output(result)``.

Outside a measured process this does nothing, in less than a microsecond, and imports nothing.
"""

from __future__ import annotations

import sys

__all__ = ["output"]


def output(value: object, name: str = "") -> None:
    """Declare a result, so that ``coldsoak fix`` can tell whether a remedy changes it.

    Call it when the timed part is over: a measured process makes a checksum of the value. A path of
    a file stands for its content, an array or tensor for its bytes, a list or tuple for its items,
    anything else for its ``repr``. Results that differ from run to run anyway are not compared.

    Args:
        value: What was computed.
        name: What the report calls it; the place of the call if empty.

    """
    if "coldsoak_agent" not in sys.modules:
        return
    from importlib import import_module

    try:
        agent = import_module("coldsoak_agent.output")
    except ImportError:
        return
    caller = sys._getframe(1)  # noqa: SLF001 - the place of the call is its name
    agent.note(value, name, f"{caller.f_code.co_filename.rpartition('/')[2]}:{caller.f_lineno}")
