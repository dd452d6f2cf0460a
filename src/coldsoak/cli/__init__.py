"""The command line: one module per command, each importing what it needs when it runs."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing takes 5 ms to import, on the way of `exec`
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status (``docs/cli.md`` lists them).

    Args:
        arguments: What follows the program's name; ``sys.argv`` by default.

    """
    from coldsoak.errors import ColdsoakError

    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _dispatch(words)
    except ColdsoakError as error:
        from coldsoak.cli.terminal import complain

        complain(error)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        from coldsoak.cli.terminal import INTERRUPTED

        sys.stderr.write("coldsoak: interrupted\n")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        raise SystemExit(_leave_quietly()) from None


def _dispatch(words: list[str]) -> None:
    if words[:1] == ["exec"]:  # must cost nothing: not even Typer is imported
        from coldsoak.cli.exec import execute

        execute(words[1:])
    if words[:1] == ["serve-warm"]:
        from coldsoak.cli.serve_warm import serve_warm

        serve_warm(words[1:])
    if words[:1] == ["run-warm"]:  # as exec
        from coldsoak.cli.serve_warm import run_warm

        run_warm(words[1:])
    from coldsoak.cli.app import app

    try:
        status = app(words or ["--help"], prog_name="coldsoak", standalone_mode=False)
    except Exception as error:
        from coldsoak.cli.terminal import as_our_own

        known = as_our_own(error)
        if known is None:
            raise
        raise known from None
    raise SystemExit(status if isinstance(status, int) else 0)


def _leave_quietly() -> int:
    """Keep the interpreter from complaining once more about a reader that has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
