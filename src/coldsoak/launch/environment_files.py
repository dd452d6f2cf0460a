"""Which files make up a command's environment: what a first run would read from the disk."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.errors import UsageError
from coldsoak.launch.command import find_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["command_files", "python_folders"]

_ASK = (
    "import json, site, sys, sysconfig;"
    "paths = sysconfig.get_paths();"
    "print(json.dumps({'folders': sorted({paths['stdlib'], paths['platstdlib'],"
    " paths['purelib'], paths['platlib'], *site.getsitepackages()}),"
    " 'executable': sys.executable,"
    " 'maps': sorted({l.split(None, 5)[5].strip() for l in open('/proc/self/maps') if '/' in l})}))"
)
_ASK_TIMEOUT_S = 60.0
_SKIP = {"/proc", "/sys", "/dev"}


def command_files(
    file: str, argv: tuple[str, ...], cwd: str, environment: Mapping[str, str]
) -> set[str]:
    """Return the files of the command's environment.

    For a Python command: its standard library, its site-packages, the libraries that a bare
    interpreter maps, and the files in the folder of the script. For others: the program alone;
    what it maps is added after round 0.

    Args:
        file: The resolved program.
        argv: The command.
        cwd: Its working directory.
        environment: What it would get.

    """
    files = {os.path.realpath(file)}
    interpreter = find_python(file)
    if interpreter is not None:
        folders, mapped = python_folders(interpreter, environment)
        files |= mapped
        files.update(_walk(folders))
    files.update(_script_folder(argv, cwd))
    return files


def python_folders(interpreter: str, environment: Mapping[str, str]) -> tuple[list[str], set[str]]:
    """Ask an interpreter for its library folders and for the files that it maps.

    Raises:
        UsageError: The interpreter does not answer.

    """
    clean = {name: value for name, value in environment.items() if name != "COLDSOAK_SPOOL"}
    try:
        answer = subprocess.run(
            [interpreter, "-c", _ASK],
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_TIMEOUT_S,
            check=True,
        )
        told = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise UsageError(
            f"{interpreter} does not tell where its libraries are, so they cannot be evicted.",
            why=str(error),
            do="use --cold process or --cold cache",
        ) from None
    mapped = {name for name in told["maps"] if os.path.isfile(name)}  # noqa: PTH113
    return told["folders"], mapped | {os.path.realpath(told["executable"])}


def _script_folder(argv: tuple[str, ...], cwd: str) -> Iterator[str]:
    """The files beside the first argument that is a file: the script's own modules and data."""
    for word in argv[1:]:
        script = Path(cwd, word)
        if script.is_file():
            folder = script.resolve().parent
            yield from (str(entry) for entry in folder.iterdir() if entry.is_file())
            return


def _walk(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for place, names, files in os.walk(folder):
            names[:] = [name for name in names if os.path.join(place, name) not in _SKIP]  # noqa: PTH118
            yield from (os.path.join(place, file) for file in files)  # noqa: PTH118
