"""Import, loader and collector spans."""

from __future__ import annotations

from coldsoak.ledger.rules.base import Kind, Verdict
from coldsoak.model.causes import Cause

__all__ = ["READS_FILES", "SPANS", "STEPS"]

SPANS: dict[str, Verdict] = {
    "import": Verdict(Cause.IMPORT_PYTHON, Kind.OPEN),
    "import.find": Verdict(Cause.IMPORT_PYTHON, Kind.OPEN),
    "import.read": Verdict(Cause.IMPORT_PYTHON, Kind.OPEN),
    "import.exec": Verdict(Cause.IMPORT_PYTHON, Kind.OPEN),
    "import.compile": Verdict(Cause.IMPORT_BYTECODE_COMPILE, Kind.FIXED),
    "dlopen": Verdict(Cause.LIBRARY_LOAD, Kind.OPEN),
    "gc": Verdict(Cause.PYTHON_GC, Kind.FIXED),
    "cost": Verdict(Cause.MEASUREMENT, Kind.COST),
}
"""Verdicts by the source of a span."""

READS_FILES = frozenset({"import.find", "import.read", "dlopen"})
"""Sources whose spans block on nothing but files: off the CPU inside them is ``page_in``."""

STEPS = frozenset({"import.find", "import.read", "import.exec"})
"""Sources whose spans lie inside an ``import`` span of the same module."""
