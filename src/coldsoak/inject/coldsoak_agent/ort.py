"""Which versions of ONNX Runtime the stage ``preheat_ort`` and its remedy know.

The parent imports this module too: it takes the standard library alone, and importing it does
nothing.
"""

OLDEST, NEWEST = (1, 21), (1, 32)
"""Versions with which the stage was tried. Before 1.21 packed weights are not kept."""
CPU = "CPUExecutionProvider"


def known(version: str) -> bool:
    """Tell whether a version, as text, is one that the stage was tried with."""
    parts = version.partition("+")[0].split(".")[:2]
    return OLDEST <= tuple(int(part) if part.isdigit() else 0 for part in parts) <= NEWEST
