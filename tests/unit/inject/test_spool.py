"""The spool writer against the model's decoder."""

import gc
import json
import math
import os
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldsoak.model import spool as model

TEXT = st.text(alphabet=st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def spool(agent_module, tmp_path):
    writer = agent_module("spool").Spool(str(tmp_path))
    writer.begin(17)
    return writer


def lines(spool):
    return [model.DECODER.decode(line) for line in Path(spool.path).read_bytes().splitlines()]


def expected(value):
    if isinstance(value, float):
        return value if math.isfinite(value) else 0.0
    if isinstance(value, str):
        return "".join("�" if 0xD800 <= ord(char) < 0xE000 else char for char in value)
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, dict):
        return {expected(key): expected(item) for key, item in value.items()}
    return value


@given(VALUES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_encoded_is_json_of_the_same_value(agent_module, value):
    module = agent_module("spool")
    for encoder in (None, module._fast_encoder()):
        line = module._line(("tag", value), encoder)
        assert "\n" not in line
        assert json.loads(line) == ["tag", expected(value)]
        if not isinstance(value, int) or abs(value) < 2**63:
            msgspec.json.decode(line)


@pytest.mark.parametrize(
    "record",
    [
        ["reading", 7, 2, 5, 4321, 123456789012345, 123456.789012345],
        ["reading", 7, 2, -1, 4321, 123456789012345, 1e-7],
        ["reading", 7, 2, 5, 4321, 123456789012345, 17],
        ["reading", 7, 2, 5, 4321, 123456789012345, math.inf],
        ["reading", 7, 2, 5, 4321, 123456789012345, math.nan],
        ["reading", 7, 2, None, "x", 123456789012345, 1.5],
        ["reading", 7],
        ["region", 7, 8, 5, 4321, 12345, 12399, 5.4e-05, "clock", "", 0, 1],
        ["region", 7, 8, 5, 4321, 12345, 12399, math.nan, "clock", "", 0, 1],
        ["region", -1, -1, 5, 4321, 12345, 12399, 5.4e-05, "declared", 'a "name"', 0, 1],
        ["region", -1, -1, 5, 4321, 12345, 12399, 5.4e-05, "clock", 'a "name"', 0, 1],
    ],
)
def test_frequent_records_are_written_as_any_others(record, agent_module):
    module = agent_module("spool")
    line = module._line(list(record), None)
    assert json.loads(line) == json.loads(module.encode(record))
    assert line == module.encode(record)


def test_a_flush_that_another_thread_forestalls_writes_nothing(spool):
    class Forestalled:
        """A lock that another thread holds until it has written everything."""

        def __enter__(self):
            del spool._buffer[:]

        def __exit__(self, *_):
            return None

    spool.emit("cost", "a", 1, 2, 3)
    spool._lock = Forestalled()
    spool.flush()
    assert not Path(spool.path).exists()


def test_records_stay_in_memory_until_a_flush_point(spool):
    spool.emit("note", "a", "first")
    assert not Path(spool.path).exists()
    spool.urgent("note", "b", "second")
    assert [note.code for note in lines(spool)] == ["a", "b"]
    assert Path(spool.path).name == f"{os.getpid()}-17.jsonl"


def test_the_descriptor_is_out_of_the_way(spool):
    lowest = os.dup(0)
    os.close(lowest)
    spool.urgent("note", "a", "")
    assert os.dup(0) == lowest
    os.close(lowest)
    assert spool._fd >= 200


def test_a_descriptor_that_became_another_file_is_left_alone(spool, tmp_path):
    spool.urgent("note", "a", "")
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    os.dup2(other, spool._fd)
    taken = spool._fd
    spool.urgent("note", "b", "")
    assert (tmp_path / "other").read_bytes() == b""
    assert [note.code for note in lines(spool)] == ["a", "b"]
    os.close(other)
    os.close(taken)


def test_a_folder_that_is_gone_ends_the_recording(agent_module, tmp_path):
    writer = agent_module("spool").Spool(str(tmp_path / "absent"))
    writer.begin(1)
    writer.urgent("note", "a", "")
    assert writer.dead
    for _ in range(10):
        writer.urgent("note", "b", "")
    assert not writer._buffer


def test_many_records_are_written_without_a_flush_point(spool):
    for number in range(20_100):
        spool.emit("note", "n", str(number))
    assert len(lines(spool)) >= 20_000


def test_waiting_records_are_no_objects_to_collect(spool):
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1000):
        spool.emit("note", "n", str(number))
    assert len(gc.get_objects()) - before < 20
    spool.flush()
    assert len(lines(spool)) == 1000


def test_threads_do_not_tear_lines(spool):
    def work(name):
        for number in range(500):
            spool.emit("note", name, str(number))
            if number % 7 == 0:
                spool.flush()

    threads = [threading.Thread(target=work, args=(str(i),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spool.flush()
    written = lines(spool)
    assert len(written) == 3000
    for name in map(str, range(6)):
        numbers = [int(note.text) for note in written if note.code == name]
        assert numbers == sorted(numbers)


def test_a_flush_inside_a_flush_does_nothing(spool, monkeypatch):
    inner = spool._write

    def write(data):
        spool.urgent("note", "inner", "")  # what a signal handler would do
        inner(data)

    monkeypatch.setattr(spool, "_write", write)
    spool.urgent("note", "outer", "")
    monkeypatch.undo()
    spool.flush()
    assert [note.code for note in lines(spool)] == ["outer", "inner"]


def test_a_large_flush_is_booked(agent_module, tmp_path):
    booked = []
    writer = agent_module("spool").Spool(
        str(tmp_path), lambda start, end: booked.append(end - start)
    )
    writer.begin(1)
    writer.urgent("note", "a", "")
    assert not booked
    for _ in range(1000):
        writer.emit("note", "a", "")
    writer.flush()
    assert len(booked) == 1
    assert booked[0] > 0
