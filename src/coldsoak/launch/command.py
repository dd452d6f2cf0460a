"""Can this command be started at all? Asked before the first launch."""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import shutil
import stat
from pathlib import Path

from coldsoak.errors import UsageError

__all__ = ["explain_spawn_error", "find_python", "resolve", "shebang"]

_NAMES_AT_MOST = 20_000


def resolve(argv: tuple[str, ...], *, cwd: str = "", path: str | None = None) -> str:
    """Return the absolute path of the file that ``argv[0]`` starts, links kept.

    Args:
        argv: The command.
        cwd: Its working directory; empty for the caller's.
        path: Its ``PATH``; None for the caller's.

    Raises:
        UsageError: It is missing, a directory, or not executable; says what to type.

    """
    if not argv or not argv[0]:
        raise UsageError("No command was given.", do="coldsoak run -- python script.py")
    if cwd and not Path(cwd).is_dir():
        raise UsageError(f"The working directory {cwd} does not exist.")
    name = argv[0]
    if os.sep not in name:
        found = shutil.which(name, path=path)
        if found is None:
            raise _not_found(argv, cwd, path)
        return os.path.abspath(os.path.join(cwd, found))  # noqa: PTH100, PTH118 - keeps links
    file = Path(os.path.abspath(os.path.join(cwd, name)))  # noqa: PTH100, PTH118
    if not file.exists():
        raise _not_found(argv, cwd, path)
    if file.is_dir():
        raise UsageError(f"{name} is a directory, not a command.", do=_for_directory(file, argv))
    if not os.access(file, os.X_OK):
        raise _not_executable(file, argv)
    return str(file)


def find_python(file: str) -> str | None:
    """Return the interpreter behind a resolved command, or None when it is not Python.

    A console script counts: its first line names the interpreter.
    """
    if _is_python_name(Path(file).resolve().name):
        return file
    words = shebang(file)
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
        words = [shutil.which(words[0]) or words[0]] if words else []
    if words and _is_python_name(Path(words[0]).resolve().name):
        return words[0]
    return None


def shebang(file: str) -> list[str]:
    """Return the words of the ``#!`` line of ``file``; empty when it has none."""
    try:
        with Path(file).open("rb") as stream:
            line = stream.readline(512)
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    return os.fsdecode(line[2:]).split()


def explain_spawn_error(error: OSError, argv: tuple[str, ...], file: str) -> UsageError:
    """Turn what the kernel said to an exec into words and a command to type."""
    words = shebang(file)
    if error.errno == errno.ENOENT and words:
        return UsageError(
            f"{argv[0]} cannot be started.",
            why=f"its first line names {words[0]}, which does not exist",
            do=f"put the interpreter in front: python {_join(argv)}",
        )
    if error.errno == errno.ENOEXEC:
        return UsageError(
            f"{argv[0]} is neither a program nor a script with a #! line.",
            do=f"put its interpreter in front: {_guess_interpreter(argv[0])} {_join(argv)}",
        )
    if error.errno == errno.E2BIG:
        return UsageError(
            "The command line and environment are too long for this system.", why=str(error)
        )
    return UsageError(f"{argv[0]} cannot be started.", why=error.strerror or str(error))


def _not_found(argv: tuple[str, ...], cwd: str, path: str | None) -> UsageError:
    name = argv[0]
    if Path(cwd, name).is_file():
        return _not_executable(Path(cwd, name), argv)
    near = difflib.get_close_matches(name, _candidates(name, cwd, path), n=2, cutoff=0.7)
    do = "check the spelling, or give its path"
    if near:
        do = " or ".join(_join((one, *argv[1:])) for one in near)
    why = "no such file" if os.sep in name else "no such program in PATH"
    return UsageError(f"{name} was not found.", why=why, do=do)


def _candidates(name: str, cwd: str, path: str | None) -> list[str]:
    if os.sep in name:
        folder = Path(cwd, name).parent
        return [str(Path(name).parent / entry) for entry in _listing(folder)]
    names: set[str] = set()
    places = path if path is not None else os.environ.get("PATH", os.defpath)
    for place in places.split(os.pathsep):
        names.update(_listing(Path(place or ".")))
        if len(names) > _NAMES_AT_MOST:
            break
    return sorted(names)


def _listing(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _not_executable(file: Path, argv: tuple[str, ...]) -> UsageError:
    if not stat.S_ISREG(file.stat().st_mode):
        return UsageError(f"{argv[0]} is not a regular file.")
    return UsageError(
        f"{argv[0]} is not executable.",
        why="it has no execute permission",
        do=f"put its interpreter in front: {_guess_interpreter(argv[0])} {_join(argv)}",
    )


def _for_directory(folder: Path, argv: tuple[str, ...]) -> str:
    if (folder / "__main__.py").is_file():
        return f"python {_join(argv)}"
    scripts = sorted(folder.glob("*.py"))
    return f"python {scripts[0]}" if scripts else "a program inside it"


def _guess_interpreter(name: str) -> str:
    return {".py": "python", ".pyw": "python", ".sh": "sh", ".bash": "bash"}.get(
        Path(name).suffix, "sh"
    )


def _join(argv: tuple[str, ...]) -> str:
    return shlex.join(argv)


def _is_python_name(name: str) -> bool:
    return name.startswith(("python", "pypy"))
