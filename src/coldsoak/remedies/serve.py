"""Both sides of the fork server that coldsoak itself needs: how it is started, how a job is asked for.

The server is ``coldsoak_agent.warmserver``, in the interpreter of the jobs. What is here imports the
standard library alone, and little of it: ``run-warm`` is on the way of every job.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys

from coldsoak.errors import CommandFailed, UsageError
from coldsoak.remedies.apply import INJECT

TYPE_CHECKING = False  # typing takes 5 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
    from typing import NoReturn

__all__ = ["Ended", "default_socket", "run_job", "server_command"]

VERSION = 1
LONGEST_PATH = 107
"""Bytes of a socket's path that Linux takes."""
FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_START = (
    "import sys; sys.path.insert(0, {folder!r}); from coldsoak_agent import warmserver; "
    "del sys.path[0]; import json; warmserver.main(json.loads(sys.argv[1]))"
)
_SERVE = "Start one with: coldsoak serve-warm --import MODULE"


class Ended:
    """How a job ended: by an exit status, or by a signal (the other is None)."""

    __slots__ = ("signal", "status")

    def __init__(self, status: int | None, signal: int | None) -> None:
        self.status, self.signal = status, signal

    def repeat(self) -> NoReturn:
        """End this process in the same way."""
        if self.signal is None:
            raise SystemExit(self.status)
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the job has left its own
        sys.stdout.flush()
        if self.signal not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(self.signal, signal.SIG_DFL)
        os.kill(os.getpid(), self.signal)
        raise SystemExit(128 + self.signal)  # a signal that does not end a process here


def default_socket() -> str:
    """Return the path that server and client use when none is given; its folder is this user's.

    Raises:
        UsageError: Another user owns the folder.

    """
    base = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/coldsoak-{os.geteuid()}"  # noqa: S108
    folder = f"{base}/coldsoak"
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    if os.stat(base).st_uid != os.geteuid():  # noqa: PTH116
        raise UsageError(f"{base} belongs to another user.", do="Give --socket PATH.")
    return f"{folder}/warm.sock"


def server_command(interpreter: Sequence[str], settings: Mapping[str, object]) -> list[str]:
    """Return the command line of a server.

    Args:
        interpreter: The Python of the jobs, with its options.
        settings: As ``coldsoak_agent.warmserver.Server`` takes them.

    """
    import json

    return [*interpreter, "-c", _START.format(folder=INJECT), json.dumps(settings)]


def run_job(path: str, words: Sequence[str], say: Callable[[int], object] | None = None) -> Ended:
    """Have a server run ``words`` with this process's streams, folder, umask and environment.

    Signals that reach this process meanwhile are passed on.

    Args:
        path: The server's socket.
        words: The command: ``script.py ARGUMENTS``, with or without an interpreter before it.
        say: Called with the job's process number when it has begun.

    Raises:
        CommandFailed: There is no server, it refuses the job, or it goes away.

    """
    with _connect(path) as connection:
        _send(connection, _request(words))
        kept = {number: signal.getsignal(number) for number in FORWARDED}

        def forward(number: int, _frame: FrameType | None) -> None:
            connection.sendall(b"signal %d\n" % number)

        for number in FORWARDED:
            signal.signal(number, forward)
        try:
            return _follow(connection, say)
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)


def _connect(path: str) -> socket.socket:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(
            f"The path of the socket is too long: {path}", why=f"At most {LONGEST_PATH} bytes."
        )
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    except OSError as error:
        connection.close()
        raise CommandFailed(
            f"No server answers on {path}.", why=error.strerror or str(error), do=_SERVE
        ) from error
    if struct.unpack("3i", told)[1] not in {os.geteuid(), 0}:
        connection.close()
        raise CommandFailed(f"The server on {path} is another user's.", do="Give --socket PATH.")
    return connection


def _request(words: Sequence[str]) -> bytes:
    umask = os.umask(0)
    os.umask(umask)
    fields = [os.getcwd(), str(umask), str(len(words)), *words]  # noqa: PTH109
    fields += [f"{name}={value}" for name, value in os.environ.items()]
    body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    return b"coldsoak-warm %d %d\n%b" % (VERSION, len(body), body)


def _send(connection: socket.socket, request: bytes) -> None:
    """Send the request, the standard streams with its first byte."""
    streams = [_duplicate(number) for number in range(3)]
    try:
        socket.send_fds(connection, [request[:1]], streams)
        connection.sendall(request[1:])
    except BrokenPipeError:
        pass  # refused before it was read: the answer says why
    finally:
        for stream in streams:
            os.close(stream)


def _duplicate(number: int) -> int:
    """Return a copy of a standard stream; of the null device where it is closed."""
    try:
        return os.dup(number)
    except OSError:
        return os.open(os.devnull, os.O_RDWR)


def _follow(connection: socket.socket, say: Callable[[int], object] | None) -> Ended:
    with connection.makefile("r", encoding="utf-8", errors="replace", newline="\n") as answers:
        try:
            for line in answers:
                word, _, value = line.rstrip("\n").partition(" ")
                if word == "exit":
                    return Ended(int(value), None)
                if word == "signal":
                    return Ended(None, int(value))
                if word == "error":
                    raise CommandFailed("The server did not run the job.", why=value)
                if word == "pid" and say is not None:
                    say(int(value))
        except ConnectionResetError:
            pass
    raise CommandFailed("The server ended before the job did.", do=_SERVE)
