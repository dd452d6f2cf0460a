"""What is known of ONNX Runtime, for ``preheat_ort`` and for the remedy that asks for it."""

OLDEST, NEWEST = (1, 21), (1, 32)
"""Versions with which the stage was tried. Before 1.21 packed weights are not kept."""
CPU = "CPUExecutionProvider"


def known(version: str) -> bool:
    """Tell whether a version, as text, is one that the stage was tried with."""
    parts = version.partition("+")[0].split(".")[:2]
    return OLDEST <= tuple(int(part) if part.isdigit() else 0 for part in parts) <= NEWEST
