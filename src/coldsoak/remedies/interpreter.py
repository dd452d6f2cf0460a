"""Which packages the command's interpreter has."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Interpreter", "ask"]

_ASK = """\
import json, os, platform, sysconfig
from importlib import metadata
found = {}
for one in metadata.distributions():
    name, path = one.metadata["Name"], getattr(one, "_path", None)
    if name:
        found.setdefault(name, (one.version, os.path.dirname(str(path)) if path else ""))
print(json.dumps({"python": platform.python_version(), "site": sysconfig.get_path("platlib"),
                  "found": found}))
"""
_TIMEOUT_S = 60.0


class Interpreter(NamedTuple):
    """An interpreter as it described itself; all empty for a command that is not Python."""

    python: str = ""
    site: str = ""
    packages: Mapping[str, str] = {}
    """Version by distribution name, as the distribution spells it."""
    places: Mapping[str, str] = {}
    """Folder of each distribution's metadata."""


def ask(executable: str, environment: Mapping[str, str], cwd: str = "") -> Interpreter:
    """Ask ``executable`` for its version and packages; an empty answer when it gives none."""
    try:
        done = subprocess.run(
            [executable, "-c", _ASK],
            env=dict(environment),
            cwd=cwd or None,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
        told = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return Interpreter()
    found = {name: tuple(pair) for name, pair in told["found"].items()}
    return Interpreter(
        python=told["python"],
        site=told["site"],
        packages={name: version for name, (version, _) in found.items()},
        places={name: place for name, (_, place) in found.items()},
    )
