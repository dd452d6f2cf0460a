"""The stage that reads recorded ranges ahead."""

import mmap
import os
import time

import pytest

from coldsoak.launch.pagecache import resident_bytes, resident_pages

MIB = 1 << 20
WAIT = "from coldsoak_agent import preheat; preheat.handle.wait(); print('ran')"


@pytest.fixture
def cold(tmp_path):
    """A file of 8 MiB that is not in memory, or a skip where the kernel will not let go of it."""
    file = tmp_path / "data.bin"
    file.write_bytes(os.urandom(8 * MIB))
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if resident_bytes(str(file))[0]:
        pytest.skip("the page cache keeps files of this file system")
    return file


def lines(tmp_path, *ranges):
    record = tmp_path / "ranges.tsv"
    record.write_text("".join("\t".join(map(str, entry)) + "\n" for entry in ranges))
    return f"readahead {record}"


def mark(file):
    state = file.stat()
    return state.st_size, state.st_mtime_ns


def arrived(file, wanted, within_s=30):
    """Return for each MiB whether most of it is in memory, once that is as wanted or time is up.

    The reads go on after the advice was taken, and the kernel may drop single pages at any time.
    """
    until = time.monotonic() + within_s
    step = MIB // mmap.PAGESIZE
    while True:
        pages = resident_pages(str(file))
        found = [sum(pages[at : at + step]) > step / 2 for at in range(0, len(pages), step)]
        if found == wanted or time.monotonic() > until:
            return found
        time.sleep(0.02)


def test_the_recorded_ranges_are_read_and_no_others(preheated, tmp_path, cold):
    plan = lines(tmp_path, (cold, 0, MIB, *mark(cold)), (cold, 4 * MIB, 2 * MIB))
    ran = preheated(WAIT, plan)
    assert ran.stages["readahead"] == ("done", f"{3 * MIB} bytes asked for")
    wanted = [True, False, False, False, True, True, False, False]
    assert arrived(cold, wanted) == wanted


def test_three_columns_are_enough(preheated, tmp_path, cold):
    ran = preheated(WAIT, lines(tmp_path, (cold, 0, MIB)))
    assert ran.stages["readahead"] == ("done", f"{MIB} bytes asked for")


def test_what_is_in_memory_is_not_asked_for(preheated, tmp_path, cold):
    cold.read_bytes()
    ran = preheated(WAIT, lines(tmp_path, (cold, 0, 8 * MIB, *mark(cold))))
    assert ran.stages["readahead"] == ("done", "all in memory already")


@pytest.mark.parametrize("change", ["time", "size", "gone"])
def test_a_file_that_has_changed_is_left_alone(preheated, tmp_path, cold, change):
    plan = lines(tmp_path, (cold, 0, MIB, *mark(cold)), (cold, 2 * MIB, MIB))
    other = tmp_path / "other"
    other.write_bytes(b"x" * MIB)
    with other.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    plan = lines(
        tmp_path, (cold, 0, MIB, *mark(cold)), (cold, 2 * MIB, MIB), (other, 0, MIB, *mark(other))
    )
    if change == "time":
        os.utime(cold, (1, 1))
    elif change == "size":
        os.truncate(cold, 7 * MIB)
    else:
        cold.unlink()
    state, text = preheated(WAIT, plan).stages["readahead"]
    assert state == "done"
    assert text == f"{MIB} bytes asked for, 1 files changed since they were recorded"


@pytest.mark.parametrize("text", ["", "nonsense\n", "a\tb\tc\n"])
def test_a_damaged_record_takes_nothing_down(preheated, tmp_path, text):
    (tmp_path / "bad.tsv").write_text(text)
    ran = preheated(WAIT, f"readahead {tmp_path / 'bad.tsv'}")
    assert (ran.status, ran.out) == (0, "ran\n")
    assert ran.stages["readahead"][0] in {"off", "failed"}


def test_a_record_that_is_gone_takes_nothing_down(preheated, tmp_path):
    ran = preheated(WAIT, f"readahead {tmp_path / 'none.tsv'}")
    assert (ran.status, ran.out) == (0, "ran\n")
    assert ran.stages["readahead"][0] == "failed"
