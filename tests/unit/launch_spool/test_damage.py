"""Whatever a launch leaves behind can be read."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.launch import spool as reader
from coldsoak.launch.spoolfile import records
from coldsoak.model import spool


def test_an_empty_or_missing_folder_gives_nothing(tmp_path):
    for folder in (tmp_path, tmp_path / "gone"):
        contents = reader.read(folder, t0_ns=0, spawn_pid=1, end_ns=5)
        assert contents.processes == contents.executions == contents.notes == ()
        assert contents.damaged == 0


def test_an_empty_file_is_passed_over(tmp_path, write, read):
    (tmp_path / "99-5.jsonl").touch()
    write()
    assert [process.pid for process in read().processes] == [10]


def test_a_truncated_last_line_is_ignored(write, read):
    write().phases(agent_ready=21, main_start=22).raw(b'["phase","main_e')
    contents = read()
    assert contents.damaged == 0
    assert contents.processes[0].main_start_ns == 22_000_000
    assert contents.processes[0].main_end_ns is None


@pytest.mark.parametrize(
    "line",
    [b'["phase","main_e\n', b"\xff\xfe\x00\n", b'["phase",1,2]\n', b'{"a":1}\n', b"[]\n", b"7\n"],
)
def test_a_damaged_line_is_counted_and_told(write, read, line):
    write().raw(line).phases(agent_ready=21)
    contents = read()
    assert contents.damaged == 1
    assert contents.processes[0].agent_ns == 1_000_000
    assert [note.code for note in contents.notes] == ["damaged"]
    assert "1 line in the records of process 10" in contents.notes[0].text


def test_records_of_an_unknown_kind_are_skipped(write, read):
    write().raw(b'["telepathy",1,2,3]\n').phases(exit=30)
    contents = read()
    assert contents.damaged == 0
    assert contents.processes[0].complete


def test_fields_that_a_newer_agent_adds_are_ignored_and_its_version_told(write, read):
    write(protocol=spool.PROTOCOL + 1).raw(b'["phase","agent_ready",1000021000000,10,"",true]\n')
    contents = read()
    assert contents.processes[0].agent_ns == 1_000_000
    assert [note.code for note in contents.notes] == ["protocol"]


def test_a_lost_first_line_is_made_up_from_the_file_name(tmp_path, read):
    line = msgspec.json.encode(spool.Phase("exit", 1_000_050_000_000, 10)) + b"\n"
    (tmp_path / "10-1000020000000.jsonl").write_bytes(b'["process",broken\n' + line)
    contents = read()
    assert contents.damaged == 1
    assert contents.processes[0].pid == 10
    assert contents.processes[0].ready_ns == 20_000_000


def test_notes_are_passed_on_once(write, read):
    note = spool.Note("no-source", "The text of <cell> is not known.")
    write().add(note, note)
    write(11, 40).add(note)
    assert [(one.code, one.text) for one in read().notes] == [(note.code, note.text)]


def test_sources_are_those_of_all_processes(write, read):
    write().add(
        spool.Source("perf", "on", "", 100),
        spool.Source("perf", "lost", "ring full", 300, 7),
        spool.Source("cupti", "off", "no CUDA"),
    )
    write(11, 40).add(spool.Source("perf", "on", "", 50), spool.Source("cupti", "on", "", 5))
    cupti, perf = read().sources
    assert (perf.state, perf.lost, perf.cost_ns, perf.reason) == ("lost", 7, 350, "ring full")
    assert (cupti.state, cupti.cost_ns, cupti.reason) == ("on", 5, "")


def test_spans_stay_in_the_files_until_they_are_asked_for(write, read):
    write().add(spool.Span("dlopen", "libx.so", 10, 1, 2, {"bytes": 3})).raw(b"[broken\n")
    (path,) = read().spools
    assert [type(record) for record in records(path)] == [spool.Process, spool.Span]


def test_records_begin_with_the_process_where_its_line_was_lost_too(tmp_path):
    line = msgspec.json.encode(spool.Phase("exit", 1_000_050_000_000, 10)) + b"\n"
    path = tmp_path / "10-1000020000000.jsonl"
    path.write_bytes(b'["process",broken\n' + line)
    process, phase = records(path)
    assert (process.pid, process.begin_ns, phase.name) == (10, 1_000_020_000_000, "exit")


@given(data=st.binary(max_size=200), cut=st.integers(0, 400))
def test_no_bytes_raise(tmp_path_factory, data, cut):
    folder = tmp_path_factory.mktemp("spool")
    good = b"".join(
        msgspec.json.encode(record) + b"\n"
        for record in (
            spool.Process(1, 10, 1, 10, 20, "3", "py", ["a"], "/", "script", 0),
            spool.Phase("agent_ready", 30, 10),
            spool.Reading(0, 0, 0, 10, 40, 1.0),
            spool.Region(0, 1, 0, 10, 40, 50, 1e-8, "clock"),
        )
    )
    (folder / "10-20.jsonl").write_bytes(good[:cut] + data)
    contents = reader.read(folder, t0_ns=0, spawn_pid=10, end_ns=100)
    for process in contents.processes:
        assert sum(stretch.ns for stretch in process.stretches) == process.end_ns - process.start_ns
