import json
import re
import time

import pytest

from coldsoak.errors import UsageError
from coldsoak.launch.until import Until, parse_until, watch


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exit", {"kind": "exit"}),
        ("region:step", {"kind": "region", "name": "step", "count": 1}),
        ("region:step:3", {"kind": "region", "name": "step", "count": 3}),
        ("region:a:b:3", {"kind": "region", "name": "a:b", "count": 3}),
        ("region:train.py:12", {"name": "train.py", "line": 12, "count": 1}),
        ("region:src/train.py:12:4", {"name": "src/train.py", "line": 12, "count": 4}),
        ("port:8000", {"kind": "port", "host": "127.0.0.1", "port": 8000}),
        ("port:box:80", {"host": "box", "port": 80}),
        ("port:[::1]:80", {"host": "::1", "port": 80}),
        ("http:http://a:9/up", {"kind": "http", "url": "http://a:9/up"}),
        ("http://a:9/up", {"kind": "http", "url": "http://a:9/up"}),
        ("https://a/up", {"kind": "http", "url": "https://a/up"}),
        ("http:localhost:9/up", {"kind": "http", "url": "http://localhost:9/up"}),
        ("log:ready: [0-9]+", {"kind": "log", "pattern": "ready: [0-9]+"}),
    ],
)
def test_parse(text, expected):
    until = parse_until(text)
    assert {name: getattr(until, name) for name in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "region",
        "region:",
        "region:x:0",
        "port:x",
        "port:0",
        "port:99999",
        "port:",
        "http:",
        "http://",
        "http://a:b/",
        "log:(",
        "log:",
        "moon:full",
    ],
)
def test_nonsense_is_told(text):
    with pytest.raises(UsageError) as caught:
        parse_until(text)
    assert caught.value.do


class Spool:
    """Writes records as the agent does."""

    def __init__(self, folder, name="10-1.jsonl"):
        self.file = folder / name

    def write(self, *records, end="\n"):
        with self.file.open("a") as stream:
            stream.write("\n".join(json.dumps(record) for record in records) + end)


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path)


def region(start, end, end_ns, name="", kind="clock", *, ready=0):
    return ["region", start, end, 0, 1, end_ns - 5, end_ns, 5e-9, kind, name, ready, 1]


SITES = (
    ["site", 0, "/home/u/train.py", 8, "Model.step", "time.time"],
    ["site", 1, "/home/u/train.py", 11, "Model.step", "time.time"],
    ["site", 2, "/home/u/other.py", 11, "other", "time.time"],
)
READINGS = tuple(["reading", n, n, 0, 1, 100 + n, 0.1] for n in range(3))


def watching(tmp_path, text):
    return watch(parse_until(text), spool_folder=tmp_path, log=tmp_path / "log")


@pytest.mark.parametrize(
    "text",
    [
        "region:step",
        "region:Model.step",
        "region:train.py:8",
        "region:train.py:11",
        "region:u/train.py:11",
    ],
)
def test_region_by_place_and_function(tmp_path, spool, text):
    watcher = watching(tmp_path, text)
    assert watcher.check() is None
    spool.write(*SITES, *READINGS, region(2, 2, 300))
    assert watcher.check() is None
    spool.write(region(0, 1, 400))
    assert watcher.check() == 400


def test_region_by_declared_name_and_count(tmp_path, spool):
    watcher = watching(tmp_path, "region:batch:3")
    for end in (10, 20):
        spool.write(region(-1, -1, end, "batch", "declared"))
        assert watcher.check() is None
    Spool(tmp_path, "11-1.jsonl").write(region(-1, -1, 30, "batch", "declared"))
    assert watcher.check() == 30


def test_the_moment_is_when_the_device_was_ready(tmp_path, spool):
    spool.write(region(-1, -1, 30, "batch", "declared", ready=45))
    assert watching(tmp_path, "region:batch").check() == 45


def test_half_a_line_waits_for_its_end(tmp_path, spool):
    watcher = watching(tmp_path, "region:batch")
    line = json.dumps(region(-1, -1, 30, "batch", "declared"))
    with spool.file.open("a") as stream:
        stream.write(line[:20])
        stream.flush()
        assert watcher.check() is None
        stream.write(line[20:] + "\n")
    assert watcher.check() == 30


def test_damage_is_passed_over(tmp_path, spool):
    spool.file.write_text('{"no": "record"}\nnonsense\n\n["unknown", 1]\n')
    spool.write(region(-1, -1, 30, "batch", "declared"))
    assert watching(tmp_path, "region:batch").check() == 30


def test_log_line(tmp_path):
    watcher = watching(tmp_path, "log:^ready$")
    assert watcher.check() is None
    with (tmp_path / "log").open("ab") as log:
        log.write(b"\xff\xfe noise\nnot ready\nrea")
        log.flush()
        assert watcher.check() is None
        log.write(b"dy\n")
    before = time.monotonic_ns()
    assert before <= watcher.check() <= time.monotonic_ns()


def test_exit_needs_no_watcher(tmp_path):
    assert watching(tmp_path, "exit") is None
    assert Until().kind == "exit"
    assert re.compile(parse_until("log:a|b").pattern)
