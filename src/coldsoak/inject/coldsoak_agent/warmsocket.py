"""The socket of the fork server: who is at its other end, what lies at its path, what a request says."""

import errno
import os
import socket
import stat
import struct

VERSION = 1
LARGEST_REQUEST = 8 << 20


class Refused(Exception):
    """The request cannot be carried out; the text is for the client."""


def peer_uid(connection):
    """Return the user on the other end of a Unix socket."""
    size = struct.calcsize("3i")
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", told)[1]


def own_memory(pid):
    """Return the resident anonymous and shared memory of a process, in bytes."""
    total = 0
    try:
        with open("/proc/%d/status" % pid) as file:
            for line in file:
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return total


def refuse_living_server(path):
    """Raise SystemExit when a server listens on ``path``, or something else is there."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise SystemExit("coldsoak: %s is there and no socket" % path)
    except FileNotFoundError:
        return
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(path)
    except OSError as error:
        if error.errno != errno.ECONNREFUSED:
            raise SystemExit("coldsoak: %s cannot be used: %s" % (path, error)) from None
    else:
        raise SystemExit("coldsoak: a server listens on %s already" % path)
    finally:
        probe.close()


def remove_stale(path):
    refuse_living_server(path)
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def read_request(buffer, fds):
    """Return folder, umask, words, environment and the bytes after them; None while some are missing."""
    head, newline, rest = buffer.partition(b"\n")
    if not newline and len(head) < 64:
        return None
    fields = head.split(b" ")
    if len(fields) != 3 or fields[0] != b"coldsoak-warm" or not fields[2].isdigit():
        raise Refused("this is no request")
    if fields[1] != b"%d" % VERSION:
        raise Refused("this server speaks version %d of the protocol" % VERSION)
    length = int(fields[2])
    if length > LARGEST_REQUEST:
        raise Refused("the request is too large")
    if len(rest) < length:
        return None
    if len(fds) != 3:
        raise Refused("a request needs three streams, %d came" % len(fds))
    try:
        folder, umask, count, *texts = [
            os.fsdecode(text) for text in rest[:length].split(b"\0")[:-1]
        ]
        words, entries = texts[: int(count)], texts[int(count) :]
        variables = dict(entry.split("=", 1) for entry in entries)
        return folder, int(umask), words, variables, rest[length:]
    except ValueError:
        raise Refused("this is no request") from None
