"""Where the answer and the complaints go."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from coldsoak.errors import ColdsoakError

__all__ = [
    "AGAIN",
    "INTERRUPTED",
    "answering",
    "as_our_own",
    "complain",
    "err",
    "out",
    "refuse_overwriting",
    "say",
    "say_json",
    "waiting",
]

AGAIN = "coldsoak report last prints it again"
"""What to type when a stored answer could not be printed."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


_PLAINLY = "coldsoak-plainly"
"""Name of what writes a letter that an encoding lacks; registered with ``codecs``."""

_PLAIN = dict(zip("µ·×–−…±°“”→✓↵", 'u-x--~~d"">v;', strict=True))
"""One letter each, so that columns stay where they are."""


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in missing), error.end


codecs.register_error(_PLAINLY, _plainly)


def out() -> Console:
    """Return the console of the answer (stdout)."""
    return _console(sys.stdout)


def err() -> Console:
    """Return the console of progress and complaints (stderr)."""
    return _console(sys.stderr)


def _console(stream: object) -> Console:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - rich would exit with 1; a reader that went away is no error

    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_PLAINLY)  # for a terminal that lacks a letter
    return Plain(file=stream, highlight=False)  # type: ignore[arg-type]


@contextmanager
def answering(again: str = "") -> Iterator[Console]:
    """Give the console of the answer; a reader that has gone away is no error.

    Args:
        again: What to type for the same answer without the work, if there is such a thing.

    Raises:
        UsageError: What stdout leads to takes no more, a full disk for example.

    """
    from coldsoak.errors import UsageError

    try:
        yield out()
        if sys.stdout is not None:  # closed by whoever started this
            sys.stdout.flush()
    except BrokenPipeError:
        _write_no_more()
    except OSError as error:
        _write_no_more()
        raise UsageError(
            "The answer cannot be printed.",
            why=error.strerror or str(error),
            do=again,
        ) from None


def say(text: str, again: str = "") -> None:
    """Print an answer that is finished text, as it is; else as :func:`answering`."""
    with answering(again) as console:
        console.file.write(text)


def say_json(value: object) -> None:
    """Print a value of the model as JSON that people can read, too."""
    import msgspec

    say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def _write_no_more() -> None:
    """Keep the interpreter from complaining once more when it flushes stdout at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_our_own(error: Exception) -> BaseException | None:
    """Return what Typer raised as one of our errors, or as Ctrl-C; None for anything else."""
    from coldsoak.errors import UsageError

    if isinstance(error.__cause__, KeyboardInterrupt):  # which older versions turn into "Aborted!"
        return error.__cause__
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        return None
    said = format_message().partition(", unable to parse")[0].rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "coldsoak"
    return UsageError(said if said.endswith(("?", ")")) else f"{said}.", do=f"{path} --help")


def complain(error: ColdsoakError) -> None:
    """Print what happened, why, and what to type."""
    from rich.text import Text

    console = err()
    console.print(Text.assemble(("coldsoak: ", "bold red"), (error.what, "bold")), soft_wrap=True)
    for line in error.why.splitlines():
        console.print(Text(f"  {line}"), soft_wrap=True)
    if error.do:
        console.print(Text.assemble(("  Try: ", "dim"), error.do), soft_wrap=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Say on a terminal what is waited for; the line is gone afterwards."""
    console = err()
    if console.is_terminal:
        with console.status(text, spinner="line"):
            yield
    else:
        yield


def refuse_overwriting(*files: Path | None, force: bool) -> None:
    """Raise before anything is measured when an output file exists or has no folder.

    Raises:
        UsageError: With the option that allows it.

    """
    from coldsoak.errors import UsageError

    for file in files:
        if file is None:
            continue
        if file.is_dir():
            raise UsageError(f"{file} is a folder.", do="the name of a file in it")
        if not file.parent.is_dir():
            raise UsageError(f"There is no folder {file.parent}.", do=f"mkdir -p {file.parent}")
        if not os.access(file.parent, os.W_OK | os.X_OK):
            raise UsageError(f"{file} cannot be written.", why="The folder may not be changed.")
        if file.exists() and not force:
            raise UsageError(f"{file} exists already.", do="--force, to replace it")
