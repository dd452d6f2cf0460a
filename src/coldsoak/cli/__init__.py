"""The command line: one module per command, each importing what it needs when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status (``docs/cli.md`` lists them).

    Args:
        arguments: What follows the program's name; ``sys.argv`` by default.

    """
    from coldsoak.cli.app import app
    from coldsoak.cli.terminal import INTERRUPTED, complain
    from coldsoak.errors import ColdsoakError

    try:
        app(arguments, prog_name="coldsoak")
    except ColdsoakError as error:
        complain(error)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        raise SystemExit(_leave_quietly()) from None


def _leave_quietly() -> int:
    """Keep the interpreter from complaining once more about a reader that has gone."""
    import os
    import sys

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
