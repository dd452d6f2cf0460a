import json
import os
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import pytest

from coldsoak.errors import FormatError, UsageError
from coldsoak.launch import store as store_module
from coldsoak.launch.store import Store, default_home, encode_result, read_result, write_atomically
from coldsoak.model.result import FORMAT, Child, Execution, Launch, Result


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "home")


def saved(store, *command, **fields):
    result = Result(
        version="1", id=store.create(command), kind="run", created="now", command=command, **fields
    )
    store.save(result)
    return result


def test_round_trip(store):
    launch = Launch(index=0, round=1, arm="a", kind="timed", data={"x": [1, 2.5, None]})
    result = saved(store, "python", "x.py", launches=(launch,))
    assert store.load(result.id) == result


def test_what_is_no_text_is_written_all_the_same(store):
    """Command lines and names of files are bytes that need not be UTF-8."""
    word = os.fsdecode(b"caf\xe9.py")
    child = Child(pid=1, ppid=0, argv=("cp", word), start_ns=0, end_ns=1)
    launch = Launch(index=0, round=1, arm="a", kind="timed", children=(child,), data={word: [word]})
    result = saved(store, "python", word, launches=(launch,))
    read = store.load(result.id)
    assert read.command == ("python", "caf\ufffd.py")
    assert read.launches[0].children[0].argv[1] == "caf\ufffd.py"
    assert read.launches[0].data == {"caf\ufffd.py": ["caf\ufffd.py"]}
    assert read.launches[0].wall_ns == 0


def test_the_format_is_always_written_first(store):
    result = saved(store, "a")
    text = store.find(result.id).read_text()
    assert text.startswith(f'{{"format":{FORMAT},')
    assert json.loads(text)["format"] == FORMAT


def test_the_id_is_time_and_hash(store):
    now = datetime(2026, 11, 30, 13, 0, tzinfo=timezone.utc)
    one = store.create(("a",), now=now)
    again = store.create(("a",), now=now)
    other = store.create(("b",), now=now)
    assert one.startswith("20261130T130000Z-")
    assert again == one + "-2"
    assert other[:17] == one[:17]
    assert other != one


def test_found_by_folder_file_id_start_and_last(store):
    now = datetime(2026, 11, 30, tzinfo=timezone.utc)
    old = Result(version="1", id=store.create(("a",), now=now), kind="run", created="")
    store.save(old)
    new = saved(store, "b")
    file = store.find(old.id)
    assert file.name == "result.json"
    for reference in (file, file.parent, old.id, old.id[:10]):
        assert store.load(reference) == old
    assert store.load("last") == new


def test_an_unfinished_folder_is_not_the_last(store):
    result = saved(store, "a")
    (store.results / "99990101T000000Z-000000").mkdir()
    assert store.load("last") == result


def test_a_start_that_fits_several(store):
    saved(store, "a")
    saved(store, "b")
    with pytest.raises(UsageError, match="fits 2 results"):
        store.load("20")


@pytest.mark.parametrize("reference", ["last", "nosuch"])
def test_no_result(store, reference):
    with pytest.raises(UsageError, match="no result") as caught:
        store.load(reference)
    assert caught.value.do


def test_a_newer_format_is_refused(tmp_path):
    file = tmp_path / "new.json"
    file.write_text('{"format": 99, "launches": "of another shape"}')
    with pytest.raises(FormatError, match="format 99") as caught:
        read_result(file)
    assert "upgrade" in caught.value.do


def test_an_older_format_is_migrated(tmp_path, monkeypatch):
    def renamed(document):
        document["command"] = document.pop("argv")
        return document

    monkeypatch.setitem(store_module.MIGRATIONS, 0, renamed)
    file = tmp_path / "old.json"
    document = {"format": 0, "version": "0", "id": "x", "kind": "run", "created": ""}
    file.write_text(json.dumps(document | {"argv": ["python"]}))
    assert read_result(file).command == ("python",)
    assert read_result(file).format == FORMAT


def test_an_unknown_old_format(tmp_path):
    file = tmp_path / "old.json"
    file.write_text('{"format": -3}')
    with pytest.raises(FormatError, match="no version"):
        read_result(file)


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_a_cut_file(store, tmp_path, cut):
    result = saved(store, "a")
    file = tmp_path / "cut.json"
    file.write_bytes(encode_result(result)[:cut])
    with pytest.raises(FormatError, match="damaged") as caught:
        read_result(file)
    assert caught.value.why
    assert caught.value.do


@pytest.mark.parametrize("text", ['{"a": 1}', "[1]", "null", "not json", '{"format": "one"}'])
def test_a_foreign_file(tmp_path, text):
    file = tmp_path / "foreign.json"
    file.write_text(text)
    with pytest.raises(FormatError):
        read_result(file)


def test_a_wrong_field_is_named(tmp_path):
    file = tmp_path / "wrong.json"
    document = {"format": FORMAT, "version": "1", "id": "x", "kind": "run", "created": ""}
    file.write_text(json.dumps(document | {"launches": [{"index": "zero"}]}))
    with pytest.raises(FormatError) as caught:
        read_result(file)
    assert "launches[0].index" in caught.value.why


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "x.json"
    write_atomically(file, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="cannot be written"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_home_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        Store(tmp_path / "file").create(("a",))
    assert "COLDSOAK_HOME" in caught.value.do


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "x", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_home(monkeypatch):
    monkeypatch.delenv("COLDSOAK_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_home() == Path("/data/coldsoak")
    monkeypatch.setenv("COLDSOAK_HOME", "/here")
    assert default_home() == Path("/here")


def test_encoding_is_plain_json(store):
    result = saved(store, "a")
    assert msgspec.json.decode(encode_result(result), type=Result) == result


@pytest.mark.parametrize("change", [{"end_ns": 5}, {"ready_ns": 5}, {"start_ns": 21}])
def test_times_that_no_clock_gives_are_damage(store, tmp_path, change):
    run = {"series": "s", "run": 0, "pid": 1, "thread": 1, "start_ns": 10, "end_ns": 20}
    good = Execution(**run, seconds=1e-8, ready_ns=30)
    launch = Launch(index=1, round=1, arm="a", kind="timed", executions=(good,))
    document = json.loads(encode_result(saved(store, "a", launches=(launch,))))
    document["launches"][0]["executions"][0] |= change
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(document))
    with pytest.raises(FormatError, match="damaged") as caught:
        read_result(file)
    assert caught.value.why == "an execution of launch 1 ends before it begins"


def test_a_negative_duration_is_damage(store, tmp_path):
    launch = Launch(index=1, round=1, arm="a", kind="timed", wall_ns=-1)
    file = tmp_path / "wrong.json"
    file.write_bytes(encode_result(saved(store, "a", launches=(launch,))))
    with pytest.raises(FormatError, match="damaged") as caught:
        read_result(file)
    assert "wall_ns" in caught.value.why


def test_a_folder_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(13, "Permission denied")

    store = Store(tmp_path)
    store.results.mkdir()
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        store.find("last")
    assert caught.value.why == "Permission denied"
