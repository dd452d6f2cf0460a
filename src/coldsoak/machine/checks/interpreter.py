"""What the command's interpreter says of itself, asked in a process with a time limit."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import msgspec

from coldsoak.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FRAMEWORKS", "Interpreter", "ask"]

FRAMEWORKS = (
    *("torch", "torchvision", "tensorflow", "jax", "jaxlib", "cupy", "cupy_backends", "triton"),
    *("onnxruntime", "numba", "numpy", "scipy", "transformers", "nvidia", "jax_plugins", "keras"),
)
"""Packages whose start is worth a look, by import name."""

_MARK = "COLDSOAK-ANSWER "
"""Starts the line; ``sitecustomize`` and exit handlers print to the same output."""

_SCRIPT = """
import importlib.metadata, json, sys, sysconfig
names = json.loads(sys.argv[1])
where = {}
for entry in sys.path:
    for name in names:
        if name not in where and entry and __import__('os').path.isdir(entry + '/' + name):
            where[name] = entry + '/' + name
versions = {}
for one in importlib.metadata.distributions():
    name = (one.metadata['Name'] or '').lower().replace('_', '-')
    versions.setdefault(name, one.version)
paths = sysconfig.get_paths()
print('COLDSOAK-ANSWER ' + json.dumps({
    'executable': sys.executable, 'version': '.'.join(map(str, sys.version_info[:3])),
    'tag': sys.implementation.cache_tag or '', 'prefix': sys.pycache_prefix or '',
    'writes_bytecode': not sys.dont_write_bytecode, 'packages': where, 'versions': versions,
    'folders': sorted({paths['purelib'], paths['platlib']}), 'path': list(filter(None, sys.path))}))
"""


class Interpreter(Frozen, kw_only=True):
    """An interpreter and what is installed for it."""

    executable: str = ""
    version: str = ""
    tag: str = ""
    """Part of the names of bytecode files: ``cpython-312``."""
    prefix: str = ""
    """``sys.pycache_prefix``."""
    writes_bytecode: bool = True
    folders: tuple[str, ...] = ()
    """Its site-packages."""
    path: tuple[str, ...] = ()
    """``sys.path``: where it looks for packages, in order."""
    packages: dict[str, str] = msgspec.field(default_factory=dict)
    """Folders of the packages among :data:`FRAMEWORKS`; found by name, never imported."""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """Of all distributions, by lower-case name."""
    error: str = ""
    """Why it did not answer."""


def ask(executable: str, environment: Mapping[str, str], *, timeout: float = 15.0) -> Interpreter:
    """Start ``executable`` once and return its answer; a failure is an answer too."""
    argv = [executable, "-c", _SCRIPT, json.dumps(FRAMEWORKS)]
    try:
        done = subprocess.run(
            argv,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Interpreter(executable=executable, error=f"no answer within {timeout:g} s")
    except OSError as error:
        return Interpreter(executable=executable, error=str(error))
    answers = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if not answers:
        lines = done.stderr.strip().splitlines()
        return Interpreter(executable=executable, error=lines[-1] if lines else "it said nothing")
    try:
        return msgspec.json.decode(answers[0].removeprefix(_MARK), type=Interpreter)
    except msgspec.DecodeError as error:
        return Interpreter(executable=executable, error=f"its answer cannot be read ({error})")
