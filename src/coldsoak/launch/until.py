"""End conditions for programs that do not end by themselves.

exit               the program ends (the default)
region:NAME[:K]    the K-th execution of a region: declared name, function, or FILE.py:LINE
port:[HOST:]P      a TCP connection to the port succeeds
http:URL           a GET is answered with a status from 200 to 399
log:REGEX          a line of the output matches
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlsplit

from coldsoak.errors import UsageError
from coldsoak.launch.tail import LineTail, SpoolTail
from coldsoak.model import spool

__all__ = ["Until", "UntilKind", "Watcher", "already_met", "parse_until", "watch"]

UntilKind = Literal["exit", "region", "port", "http", "log"]

_ATTEMPT_S = 0.25
_ANSWER_S = 5.0
"""A server that loads its model in the first request is slow to answer, and must not be cut off."""
_PLACE = re.compile(r"(?P<file>.+\.py|.*/[^:]+):(?P<line>\d+)(?::(?P<k>\d+))?")
_NAMED = re.compile(r"(?P<name>.+?)(?::(?P<k>\d+))?")
_DO = "--until exit, region:NAME[:K], port:P, http:URL or log:REGEX"


@dataclass(frozen=True, kw_only=True)
class Until:
    """A parsed end condition."""

    kind: UntilKind = "exit"
    text: str = "exit"
    """As the user wrote it."""
    name: str = ""
    """Region's name or function, or the end of the file's path."""
    line: int = 0
    """Of a region given by place; 0 for one given by name."""
    count: int = 1
    host: str = "127.0.0.1"
    port: int = 0
    url: str = ""
    pattern: str = ""


class Watcher(Protocol):
    """Looks whether the end condition has come."""

    interval_s: float
    """How often to ask."""

    def check(self) -> int | None:
        """Return the moment in CLOCK_MONOTONIC ns, or None while it has not come."""


def parse_until(text: str) -> Until:
    """Read an end condition; raises ``UsageError`` for one that makes no sense."""
    kind, colon, rest = text.partition(":")
    if text == "exit":
        return Until()
    if not colon or not rest:
        raise UsageError(f"--until {text} is not an end condition.", do=_DO)
    if kind == "region":
        return _parse_region(text, rest)
    if kind == "port":
        host, _, port = rest.rpartition(":")
        return Until(
            kind="port", text=text, host=host.strip("[]") or "127.0.0.1", port=_port(port, text)
        )
    if kind in {"http", "https"}:
        return _parse_http(text, rest)
    if kind == "log":
        return _parse_log(text, rest)
    raise UsageError(f"--until {text}: there is no condition named {kind}.", do=_DO)


def watch(until: Until, *, spool_folder: Path, log: Path) -> Watcher | None:
    """Return what watches for ``until``; None for ``exit``, which the executor sees itself."""
    if until.kind == "region":
        return _RegionWatcher(until, SpoolTail(spool_folder))
    if until.kind == "log":
        return _LogWatcher(re.compile(until.pattern), LineTail(log))
    if until.kind == "port":
        return _PortWatcher(until.host, until.port)
    if until.kind == "http":
        return _HttpWatcher(until.url)
    return None


def already_met(until: Until) -> bool:
    """Tell whether somebody else's server answers before the launch has begun."""
    if until.kind == "port":
        return _PortWatcher(until.host, until.port).check() is not None
    if until.kind == "http":
        return _HttpWatcher(until.url).check() is not None
    return False


class _RegionWatcher:
    interval_s = 0.01

    def __init__(self, until: Until, tail: SpoolTail) -> None:
        self._until = until
        self._tail = tail
        self._sites: dict[tuple[str, int], spool.Site] = {}
        self._readings: dict[tuple[str, int], int] = {}
        self._found = 0

    def check(self) -> int | None:
        regions = []
        for file, record in self._tail.read():
            if isinstance(record, spool.Site):
                self._sites[file, record.id] = record
            elif isinstance(record, spool.Reading):
                self._readings[file, record.id] = record.site
            elif isinstance(record, spool.Region):
                regions.append((file, record))
        for file, region in sorted(regions, key=lambda pair: pair[1].end_ns):
            if self._matches(file, region):
                self._found += 1
                if self._found == self._until.count:
                    return region.ready_ns or region.end_ns
        return None

    def _matches(self, file: str, region: spool.Region) -> bool:
        if not self._until.line and region.name == self._until.name:
            return True
        readings = (self._readings.get((file, number)) for number in (region.start, region.end))
        sites = (self._sites.get((file, site)) for site in readings if site is not None)
        return any(self._at(site) for site in sites if site is not None)

    def _at(self, site: spool.Site) -> bool:
        if self._until.line:
            here = Path(site.file).parts
            asked = Path(self._until.name).parts
            return site.line == self._until.line and here[-len(asked) :] == asked
        return self._until.name in {site.function, site.function.rpartition(".")[2]}


class _LogWatcher:
    """The file is asked every 2 ms, so the moment is at most that much late."""

    interval_s = 0.002

    def __init__(self, pattern: re.Pattern[str], tail: LineTail) -> None:
        self._pattern = pattern
        self._tail = tail

    def check(self) -> int | None:
        lines = self._tail.read()
        now = time.monotonic_ns()
        return now if any(self._pattern.search(line) for line in lines) else None


class _PortWatcher:
    interval_s = 0.01

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)

    def check(self) -> int | None:
        try:
            with socket.create_connection(self._address, timeout=_ATTEMPT_S):
                return time.monotonic_ns()
        except OSError:
            return None


class _HttpWatcher:
    interval_s = 0.01

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def check(self) -> int | None:
        connection = self._connect()
        try:
            connection.connect()
            connection.sock.settimeout(_ANSWER_S)
            connection.request("GET", self._path, headers={"Connection": "close"})
            answered = 200 <= connection.getresponse().status < 400
            return time.monotonic_ns() if answered else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host = self._url.hostname or "127.0.0.1"
        if self._url.scheme == "https":
            # Readiness is asked here, not identity: servers under test sign their own certificates.
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return http.client.HTTPSConnection(
                host, self._url.port, timeout=_ATTEMPT_S, context=context
            )
        return http.client.HTTPConnection(host, self._url.port, timeout=_ATTEMPT_S)


def _parse_region(text: str, rest: str) -> Until:
    if place := _PLACE.fullmatch(rest):
        count = int(place["k"] or 1)
        until = Until(
            kind="region", text=text, name=place["file"], line=int(place["line"]), count=count
        )
    else:
        named = _NAMED.fullmatch(rest)
        if named is None:
            raise UsageError(f"--until {text} names no region.", do=_DO)
        until = Until(kind="region", text=text, name=named["name"], count=int(named["k"] or 1))
    if until.count < 1:
        raise UsageError(f"--until {text}: executions count from 1.", do=f"region:{until.name}:1")
    return until


def _parse_http(text: str, rest: str) -> Until:
    url = text if rest.startswith("//") else rest
    url = url if "://" in url else f"http://{url}"
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--until {text} has no host.", do="--until http:http://127.0.0.1:8000/")
    try:
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--until {text}: {error}.", do="a port from 1 to 65535") from None
    return Until(kind="http", text=text, url=url, host=parts.hostname, port=port or 0)


def _parse_log(text: str, rest: str) -> Until:
    try:
        re.compile(rest)
    except re.error as error:
        raise UsageError(
            f"--until {text} is not a regular expression.",
            why=str(error),
            do=f"put a backslash before special characters: log:{re.escape(rest)}",
        ) from None
    return Until(kind="log", text=text, pattern=rest)


def _port(text: str, whole: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise UsageError(f"--until {whole}: {text} is not a port.", do="--until port:8000")
    return int(text)
