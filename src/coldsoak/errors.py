"""The one family of errors that coldsoak raises on purpose.

``ColdsoakError`` carries what happened, why, and what to type next, and the exit status of the
command line. ``cli.main`` catches it once; everything else is a bug and keeps its traceback.

    ColdsoakError
    ├── UsageError          2  the command line or an argument makes no sense
    ├── NothingMeasured     3  no launch gave a number
    ├── CommandFailed       1  the measured command failed
    └── FormatError         2  a file is not a result this version can read
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 5 ms to import, on the way of `exec`
if TYPE_CHECKING:
    from typing import ClassVar

__all__ = ["ColdsoakError", "CommandFailed", "FormatError", "NothingMeasured", "UsageError"]


class ColdsoakError(Exception):
    """Base of all deliberate errors.

    Args:
        what: One sentence: what happened.
        why: The reason, or the evidence for it.
        do: What the user can type or change.

    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, why: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.do = do


class UsageError(ColdsoakError):
    """The request itself cannot be carried out (exit status 2)."""


class FormatError(ColdsoakError):
    """A file is not a result, or is of a newer format (exit status 2)."""


class CommandFailed(ColdsoakError):
    """The measured command failed (exit status 1)."""

    exit_code = 1


class NothingMeasured(ColdsoakError):
    """No launch gave a number (exit status 3)."""

    exit_code = 3
