"""Where results live, and how they are written so that a crash never costs one.

    $COLDSOAK_HOME, else $XDG_DATA_HOME/coldsoak, else ~/.local/share/coldsoak
      results/ID/result.json        the result
                 logs/NNN.log       the output of each launch
                 traces/NNN.trace.gz

The id is the UTC time and a short hash of the command.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from coldsoak.errors import FormatError, UsageError
from coldsoak.launch.encoding import to_json
from coldsoak.model.result import FORMAT, Result

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MIGRATIONS",
    "Store",
    "default_home",
    "encode_result",
    "load",
    "read_result",
    "write_atomically",
]

FILE = "result.json"

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For each older format number, what turns its decoded JSON into the next format's."""


def default_home() -> Path:
    """Return the folder of coldsoak's data; it need not exist."""
    if home := os.environ.get("COLDSOAK_HOME"):
        return Path(home).expanduser()
    if data := os.environ.get("XDG_DATA_HOME"):
        return Path(data) / "coldsoak"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "coldsoak"
    return Path.home() / ".local" / "share" / "coldsoak"


class Store:
    """The folder of results.

    Args:
        home: Coldsoak's data folder; None for :func:`default_home`.

    """

    def __init__(self, home: Path | None = None) -> None:
        self.home = home if home is not None else default_home()

    @property
    def results(self) -> Path:
        """The folder that holds one folder for each result."""
        return self.home / "results"

    def create(self, command: tuple[str, ...], *, now: datetime | None = None) -> str:
        """Make the folder of a new result and return its id.

        Raises:
            UsageError: It cannot be written there.

        """
        moment = (now or datetime.now(timezone.utc)).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256("\0".join(command).encode("utf-8", "surrogateescape"))
        stem = f"{moment}-{digest.hexdigest()[:6]}"
        try:
            self.results.mkdir(parents=True, exist_ok=True)
            return self._first_free(stem)
        except OSError as error:
            raise UsageError(
                f"Results cannot be written to {self.results}.",
                why=error.strerror or str(error),
                do="set COLDSOAK_HOME to a folder that can be written",
            ) from error

    def folder(self, identifier: str) -> Path:
        """Return the folder of a result, whether it exists or not."""
        return self.results / identifier

    def save(self, result: Result) -> Path:
        """Write ``result`` to its folder, atomically, and return the file."""
        file = self.folder(result.id) / FILE
        write_atomically(file, encode_result(result))
        return file

    def identifiers(self) -> list[str]:
        """Return the ids of all results that have a file, oldest first.

        Raises:
            UsageError: The folder cannot be read.

        """
        second = len("20261130T130000Z")
        try:
            if not self.results.is_dir():
                return []
            found = [entry for entry in self.results.iterdir() if (entry / FILE).is_file()]
            found.sort(key=lambda entry: (entry.name[:second], (entry / FILE).stat().st_mtime_ns))
        except OSError as error:
            raise UsageError(
                f"The results in {self.results} cannot be read.",
                why=error.strerror or str(error),
                do="set COLDSOAK_HOME to a folder that can be read",
            ) from error
        return [entry.name for entry in found]

    def find(self, reference: str | Path) -> Path:
        """Return the file of a result.

        Args:
            reference: A file, a result's folder, an id or the start of one, or ``last``.

        Raises:
            UsageError: There is no such result, or the start fits several.

        """
        path = Path(reference).expanduser()
        if path.is_dir() and (path / FILE).is_file():
            return path / FILE
        if path.is_file():
            return path
        known = self.identifiers()
        text = str(reference)
        if text == "last" and known:
            return self.folder(known[-1]) / FILE
        fitting = [text] if text in known else [name for name in known if name.startswith(text)]
        if len(fitting) == 1:
            return self.folder(fitting[0]) / FILE
        raise _not_found(text, fitting, known, self.results)

    def load(self, reference: str | Path = "last") -> Result:
        """Read a result; see :meth:`find` and :func:`read_result`."""
        return read_result(self.find(reference))

    def _first_free(self, stem: str) -> str:
        number = 1
        while True:
            identifier = stem if number == 1 else f"{stem}-{number}"
            try:
                self.folder(identifier).mkdir()
            except FileExistsError:
                number += 1
            else:
                return identifier


def encode_result(result: Result) -> bytes:
    """Return the JSON of a result; its first field is always the format, default or not."""
    body = to_json(msgspec.structs.replace(result, format=FORMAT))
    return b'{"format":%d,' % FORMAT + body[1:]


def load(reference: str | Path = "last") -> Result:
    """Read a result by file, folder, id, start of an id, or ``last``."""
    return Store().load(reference)


def read_result(file: Path) -> Result:
    """Read a result file of this format or an older one.

    Raises:
        FormatError: The file is cut off, is not a result, or is of a newer format.

    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FormatError(f"{file} cannot be read.", why=error.strerror or str(error)) from error
    number = _format_of(data, file)
    if number > FORMAT:
        raise FormatError(
            f"{file} has format {number}; this version reads up to {FORMAT}.",
            why="it was written by a newer coldsoak",
            do="pip install --upgrade coldsoak",
        )
    try:
        if number == FORMAT:
            result = msgspec.json.decode(data, type=Result)
        else:
            document = _migrated(msgspec.json.decode(data), number, file)
            result = msgspec.convert(document, type=Result)
    except msgspec.DecodeError as error:
        raise _damaged(file, str(error)) from error
    _check_times(result, file)
    return result


def write_atomically(file: Path, data: bytes) -> None:
    """Replace ``file`` by ``data``: readers see the old or the new one, never a part.

    Raises:
        UsageError: The disk is full or the folder cannot be written; the old file is untouched.

    """
    temporary = ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101
        os.replace(temporary, file)  # noqa: PTH105
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written.",
            why=error.strerror or str(error),
            do="make room, or set COLDSOAK_HOME to another disk"
            if default_home() in file.absolute().parents
            else "a file on another disk",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def _check_times(result: Result, file: Path) -> None:
    """Refuse what no clock gives, so that nothing behind has to reckon with it."""
    for launch in result.launches:
        for one in launch.executions:
            ready = one.end_ns if one.ready_ns is None else one.ready_ns
            if min(one.end_ns, ready) < one.start_ns:
                raise _damaged(file, f"an execution of launch {launch.index} ends before it begins")


class _Head(msgspec.Struct):
    """The fields that every format has."""

    format: int
    version: str = ""


def _format_of(data: bytes, file: Path) -> int:
    try:
        return msgspec.json.decode(data, type=_Head).format
    except msgspec.DecodeError as error:
        if not data.strip():
            why = "the file is empty"
        else:
            why = f"{error} (the file has {len(data)} bytes)"
        raise _damaged(file, why) from error


def _damaged(file: Path, why: str) -> FormatError:
    return FormatError(
        f"{file} is not a result of coldsoak, or it is damaged.", why=why, do="coldsoak report last"
    )


def _migrated(document: dict[str, Any], number: int, file: Path) -> dict[str, Any]:
    while number < FORMAT:
        step = MIGRATIONS.get(number)
        if step is None:
            raise FormatError(f"{file} has format {number}, which no version of coldsoak wrote.")
        document = step(document)
        number += 1
    return document | {"format": FORMAT}


def _not_found(text: str, fitting: list[str], known: list[str], folder: Path) -> UsageError:
    if fitting:
        return UsageError(
            f"{text} fits {len(fitting)} results.", why=", ".join(fitting[:5]), do="give more of it"
        )
    if not known:
        return UsageError(
            f"There is no result {text}.",
            why=f"{folder} is empty",
            do="coldsoak run -- python script.py",
        )
    return UsageError(
        f"There is no result {text}.", why=f"the newest is {known[-1]}", do="coldsoak report last"
    )
