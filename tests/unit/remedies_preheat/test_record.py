"""What a command read, as it is recorded and read ahead again."""

import mmap
import os
import sys
import time
from pathlib import Path

import pytest

from coldsoak.errors import CommandFailed
from coldsoak.launch.pagecache import resident_bytes
from coldsoak.remedies import record as module
from coldsoak.remedies.record import GAP, join, record

MIB = 1 << 20


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Three files that stand for the environment of the command; the real one stays in memory."""
    names = [tmp_path / name for name in ("read.bin", "mapped.bin", "untouched.bin")]
    for name in names:
        name.write_bytes(os.urandom(8 * MIB))
    monkeypatch.setattr(module, "command_files", lambda *_: {str(name) for name in names})
    module.drop(map(str, names))
    if any(resident_bytes(str(name))[0] for name in names):
        pytest.skip("the page cache keeps files of this file system")
    return names


PROGRAM = """
import mmap, os, sys
fd = os.open("read.bin", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
os.pread(fd, 1 << 20, 4 << 20)
kept = mmap.mmap(os.open("mapped.bin", os.O_RDONLY), 0, prot=mmap.PROT_READ)
kept.madvise(mmap.MADV_RANDOM)
total = kept[0] + kept[6 << 20]
"""


def read_lines(file):
    return [line.split("\t") for line in file.read_text().splitlines()]


def test_read_and_mapped_parts_are_recorded_and_nothing_else(files, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    told = record([sys.executable, "program.py"], tmp_path / "out" / "r.tsv", folder=tmp_path)
    lines = read_lines(told.file)
    own = {name.name: [] for name in files}
    for line in lines:
        if Path(line[0]).parent == tmp_path:
            own.setdefault(Path(line[0]).name, []).append((int(line[1]), int(line[2])))
    assert own["read.bin"] == [(4 * MIB, MIB)]
    assert own["untouched.bin"] == []
    first, second = own["mapped.bin"]
    assert first[0] == 0
    assert second[0] <= 6 * MIB < sum(second)
    assert first[1] + second[1] <= 2 * MIB  # two pages, and what the kernel maps around them
    assert told.bytes == sum(int(line[2]) for line in lines)
    assert told.ranges == len(lines)
    assert told.installed == 24 * MIB


def test_libraries_outside_the_environment_are_recorded_where_they_are_mapped(files, tmp_path):
    told = record([sys.executable, "-c", "pass"], tmp_path / "r.tsv", folder=tmp_path)
    assert any("/libc.so" in line[0] for line in read_lines(told.file))


def test_size_and_time_stand_on_the_first_range_of_a_file(files, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    told = record([sys.executable, "program.py"], tmp_path / "r.tsv", folder=tmp_path)
    seen = set()
    for path, *rest in read_lines(told.file):
        state = Path(path).stat()
        marked = [str(state.st_size), str(state.st_mtime_ns)]
        assert rest[2:] == ([] if path in seen else marked)
        assert int(rest[0]) + int(rest[1]) <= state.st_size
        seen.add(path)


def test_the_record_is_what_the_stage_reads(files, tmp_path, preheated):
    (tmp_path / "program.py").write_text(PROGRAM)
    told = record([sys.executable, "program.py"], tmp_path / "r.tsv", folder=tmp_path)
    module.drop(map(str, files))
    wait = "from coldsoak_agent import preheat; preheat.handle.wait()"
    ran = preheated(wait, f"readahead {told.file}")
    assert ran.stages["readahead"][0] == "done"
    deadline = time.monotonic() + 30  # the kernel reads ahead after the call has returned
    while resident_bytes(str(files[0]))[0] < MIB and time.monotonic() < deadline:
        time.sleep(0.01)
    assert resident_bytes(str(files[0]))[0] >= MIB
    assert resident_bytes(str(files[2]))[0] == 0


def test_the_command_is_not_disturbed_by_the_recorder(files, tmp_path):
    program = (
        "import os, sys; sys.exit('COLDSOAK_PREHEAT' in os.environ or 'PYTHONPATH' in os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    record(
        [sys.executable, "-c", program], tmp_path / "r", folder=tmp_path, environment=environment
    )


def test_a_command_that_is_no_python_is_recorded_by_the_page_cache_alone(files, tmp_path):
    told = record(["cat", "read.bin"], tmp_path / "r.tsv", folder=tmp_path)
    assert [line[:3] for line in read_lines(told.file)] == [[str(files[0]), "0", str(8 * MIB)]]


@pytest.mark.parametrize(
    ("code", "timeout_s", "text"),
    [
        ("raise SystemExit('no luck')", 60, "status 1"),
        ("import time; time.sleep(60)", 0.5, "0.5 s"),
    ],
)
def test_a_command_that_fails_is_not_recorded(files, tmp_path, code, timeout_s, text):
    with pytest.raises(CommandFailed, match=text):
        record([sys.executable, "-c", code], tmp_path / "r", folder=tmp_path, timeout_s=timeout_s)
    assert not (tmp_path / "r").exists()


def test_near_ranges_are_joined():
    page = mmap.PAGESIZE
    assert join([]) == []
    assert join([(0, page), (page, page)]) == [(0, 2 * page)]
    assert join([(GAP + page, page), (0, page)]) == [(0, page), (GAP + page, page)]
    assert join([(0, page), (GAP, page)]) == [(0, GAP + page)]
    assert join([(0, 10 * page), (page, page)]) == [(0, 10 * page)]


def test_runs_of_ones(monkeypatch):
    monkeypatch.syspath_prepend(module.INJECT)
    from coldsoak_agent.touched import runs

    for flags in (b"", b"\0\0", b"\1", b"\0\1\1\0\1", b"\1\1\0"):
        back = bytearray(len(flags))
        for first, count in runs(flags):
            back[first : first + count] = b"\1" * count
        assert back == flags
