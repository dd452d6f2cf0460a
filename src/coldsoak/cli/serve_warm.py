"""``coldsoak serve-warm`` and ``coldsoak run-warm``: a fork server, and its client.

Both parse their options themselves: the client is on the way of every job and imports as little as
``exec`` does.
"""

from __future__ import annotations

import os
import sys

from coldsoak.errors import CommandFailed, UsageError

TYPE_CHECKING = False  # typing takes 5 ms to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["RUN_HELP", "SERVE_HELP", "run_listed", "run_warm", "serve_listed", "serve_warm"]

SERVE_HELP = """\
Usage: coldsoak serve-warm [OPTIONS] [-- PYTHON [OPTIONS]]

  Import once, then run each job in a fork of this process.

  `coldsoak run-warm -- script.py` sends a job. The server starts no CUDA; jobs
  may. It ends with status 1 when it can no longer fork rightly, and says why.
  SIGTERM or Ctrl-C: no new jobs, those that run have the grace to end.

  PYTHON is the interpreter of the jobs.  [default: python on the PATH]

Options:
  --import MODULE    Import this before the first job. Repeatable.
  --recipe FILE      Import what this recipe imports without collections; its
                     variables hold in the server and in each job.
  --socket PATH      Where to listen.  [default: a folder of yours, printed]
  --max-jobs N       Jobs that run at once; others wait.  [default: the CPUs]
  --memory-limit M   MiB that a job may have in memory, what it shares with the
                     server included; more ends it.  [default: none]
  --idle-timeout S   End after so many seconds without a job.  [default: never]
  --grace S          Time that jobs get when the server ends.  [default: 10]
  -h, --help         Show this message and exit.
"""

RUN_HELP = """\
Usage: coldsoak run-warm [--socket PATH] -- [PYTHON] SCRIPT [ARGUMENTS]
       coldsoak run-warm [--socket PATH] -- [PYTHON] -m MODULE [ARGUMENTS]

  Run a program in a fork of a server that has done its imports.

  Streams, folder, umask, environment, signals and the exit status are those of
  a program that was started here. What a fork cannot be (another interpreter,
  its options, variables that were read when the server started) is refused.

Options:
  --socket PATH  Where `coldsoak serve-warm` listens.
  -h, --help     Show this message and exit.
"""

_SERVE_OPTIONS = {
    "--import": str,
    "--recipe": str,
    "--socket": str,
    "--max-jobs": int,
    "--memory-limit": float,
    "--idle-timeout": float,
    "--grace": float,
}


def serve_listed() -> None:
    """Import once, run each job in a fork of that process."""
    sys.stdout.write(SERVE_HELP)


def run_listed() -> None:
    """Run a program in a fork of a server that has done its imports."""
    sys.stdout.write(RUN_HELP)


def run_warm(arguments: Sequence[str]) -> NoReturn:
    """Send a job to a server and end as the job ends.

    Raises:
        UsageError: No command, or an unknown option.
        CommandFailed: There is no server, or it refuses the job.

    """
    given, command = _parse("run-warm", list(arguments), {"--socket": str}, RUN_HELP)
    if not command:
        raise UsageError("There is no program to run.", do="coldsoak run-warm -- SCRIPT ARGUMENTS")
    from coldsoak.remedies.serve import default_socket, run_job

    path = str(given["--socket"][0]) if "--socket" in given else default_socket()
    run_job(path, command).repeat()


def serve_warm(arguments: Sequence[str]) -> NoReturn:
    """Become the server.

    Raises:
        UsageError: An unknown option, or a value without sense.
        FormatError: The recipe cannot be read.
        CommandFailed: The interpreter cannot be started.

    """
    given, interpreter = _parse("serve-warm", list(arguments), _SERVE_OPTIONS, SERVE_HELP)
    from coldsoak.remedies.serve import default_socket, server_command

    environment = dict(os.environ)
    modules = [str(name) for name in given.get("--import", [])]
    keep = (
        _follow_recipe(str(given["--recipe"][0]), modules, environment)
        if "--recipe" in given
        else []
    )
    settings = {
        "socket": os.path.abspath(str(given.get("--socket", [""])[0] or default_socket())),  # noqa: PTH100
        "imports": modules,
        "keep": keep,
        "max_jobs": int(_number(given, "--max-jobs", os.cpu_count() or 1, least=1)),
        "memory_limit": int(_number(given, "--memory-limit", 0) * (1 << 20)),
        "idle_timeout_s": _number(given, "--idle-timeout", 0),
        "grace_s": _number(given, "--grace", 10),
    }
    words = server_command(interpreter or [_python()], settings)
    try:
        os.execvpe(words[0], words, environment)  # noqa: S606 - to become the server is the task
    except OSError as error:
        raise CommandFailed(f"{words[0]} cannot be started.", why=str(error)) from error


def _follow_recipe(path: str, modules: list[str], environment: dict[str, str]) -> list[str]:
    """Add the recipe's imports and variables; return the names of the variables."""
    from coldsoak.remedies.apply import apply, load_tables

    tables = load_tables(path)
    applied = apply(tables)
    for message in applied.messages:
        sys.stderr.write(f"coldsoak: {message}\n")
    modules += [
        str(name) for name in tables.get("preheat", {}).get("gc", ()) if name not in modules
    ]
    environment.update(applied.env)
    for name in applied.unset:
        environment.pop(name, None)
    return [*applied.env, *applied.unset]


def _python() -> str:
    import shutil

    return shutil.which("python") or shutil.which("python3") or sys.executable


def _number(given: dict[str, list[object]], name: str, default: float, least: float = 0) -> float:
    value = given.get(name, [default])[-1]
    if not isinstance(value, (int, float)) or not least <= value < float("inf"):
        raise UsageError(f"{name} {value} makes no sense.", do="coldsoak serve-warm --help")
    return value


def _parse(
    name: str, words: list[str], known: dict[str, type], text: str
) -> tuple[dict[str, list[object]], list[str]]:
    """Return the options with their values in order, and what stands behind them."""
    given: dict[str, list[object]] = {}
    while words and words[0].startswith("-"):
        word, equals, value = words.pop(0).partition("=")
        if word == "--":
            break
        if word in {"-h", "--help"}:
            sys.stdout.write(text)
            raise SystemExit(0)
        if word not in known:
            raise UsageError(f"{name} does not know {word}.", do=f"coldsoak {name} --help")
        if not equals:
            if not words:
                raise UsageError(f"{word} needs a value.", do=f"coldsoak {name} --help")
            value = words.pop(0)
        try:
            given.setdefault(word, []).append(known[word](value))
        except ValueError:
            raise UsageError(
                f"{word} {value} is no number.", do=f"coldsoak {name} --help"
            ) from None
    return given, words
