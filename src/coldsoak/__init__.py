"""Why is the first run slow, and what makes it fast.

    import coldsoak

    result = coldsoak.run(["python", "train.py"])
    with coldsoak.region("load the model"):
        ...

Importing the package loads nothing else: each name is looked up when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing takes 5 ms to import, on the way of `exec`
if TYPE_CHECKING:
    from coldsoak.api import bench, fix, load, run
    from coldsoak.declared import output
    from coldsoak.regions import region
    from coldsoak.remedies.preheat import preheat

__all__ = ["__version__", "bench", "fix", "load", "output", "preheat", "region", "run"]

__version__ = "0.1.0"

_HOMES = {
    "bench": "coldsoak.api",
    "fix": "coldsoak.api",
    "load": "coldsoak.api",
    "output": "coldsoak.declared",
    "preheat": "coldsoak.remedies.preheat",
    "region": "coldsoak.regions",
    "run": "coldsoak.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
