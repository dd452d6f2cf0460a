from __future__ import annotations

import struct

import pytest

from coldsoak.launch.perfdata import Comm, Fork, MapRecord, Sample, Switch, parse_maps, read_perf

IDS = {"1": "clock", "2": "switch", "3": "fault.minor"}
KERNEL_MARK, USER_MARK = 0xFFFFFFFFFFFFFF80, 0xFFFFFFFFFFFFFE00


def test_records_of_all_cpus_come_in_order_of_time(ring, write_perf):
    one = ring().sample(30, 0x1000).switch(50, out=True)
    two = ring().sample(20, 0x2000, event=2).fork(40, 11, 10, 11, 10)
    data = read_perf(write_perf(one, two), IDS)
    assert [record.time for record in data.records] == [20, 30, 40, 50]
    assert [type(record) for record in data.records] == [Sample, Sample, Fork, Switch]
    assert data.records[0].event == "switch"


def test_context_markers_are_no_frames(ring, write_perf):
    path = write_perf(ring().sample(1, KERNEL_MARK, 1 << 63, USER_MARK, 0x1234))
    assert read_perf(path, IDS).records[0].chain == (1 << 63, 0x1234)


@pytest.mark.parametrize(("out", "preempted"), [(True, False), (True, True), (False, False)])
def test_a_switch_says_which_way_and_why(ring, write_perf, out, preempted):
    path = write_perf(ring().switch(1, out=out, preempted=preempted))
    assert read_perf(path, IDS).records == [Switch(1, 10, 10, out, preempted)]


def test_a_mapping_has_its_file_and_whether_it_is_code(ring, write_perf):
    rings = ring().mmap(1, 0x1000, 0x2000, "/lib/x.so", offset=0x500)
    rings.mmap(2, 0x9000, 0x1000, "//anon", prot=3, data=True)
    code, memory = read_perf(write_perf(rings), IDS).records
    assert code == MapRecord(1, 10, 10, 0x1000, 0x3000, 0x500, executable=True, name="/lib/x.so")
    assert not memory.executable
    assert memory.name == "//anon"


def test_an_exec_is_told_from_a_rename(ring, write_perf):
    rings = ring().comm(1, 10, "worker").comm(2, 10, "g++", executed=True)
    assert read_perf(write_perf(rings), IDS).records == [
        Comm(1, 10, 10, "worker", exec=False),
        Comm(2, 10, 10, "g++", exec=True),
    ]


def test_lost_records_are_counted(ring, write_perf):
    data = read_perf(write_perf(ring().lost(7), ring().lost(5).sample(1, 1)), IDS)
    assert data.lost == 12
    assert len(data.records) == 1


@pytest.mark.parametrize("cut", [1, 15, 17, 40])
def test_a_file_that_ends_in_a_chunk_keeps_the_rest(ring, write_perf, cut):
    half = (struct.pack("<IIQ", 0, 4000, 0) + b"\x09" * 4000)[:cut]
    data = read_perf(write_perf(ring().sample(1, 1), tail=half), IDS)
    assert len(data.records) == 1
    assert data.truncated is (cut >= 16)


def test_an_unknown_kind_is_passed_over(ring, write_perf):
    rings = ring()
    rings._record(77, 0, b"\0" * 24)
    assert len(read_perf(write_perf(rings.sample(1, 1)), IDS).records) == 1


def test_a_copy_of_maps_is_read_with_paths_that_hold_spaces():
    text = (
        "7f00-7f10 r-xp 00000020 08:01 12   /opt/my lib.so\n"
        "7f10-7f20 rw-p 00000000 00:00 0 \n"
        "nonsense\n"
    )
    code, memory = parse_maps(text, 7, 99)
    assert (code.start, code.end, code.offset, code.name) == (
        0x7F00,
        0x7F10,
        0x20,
        "/opt/my lib.so",
    )
    assert code.executable
    assert (memory.name, memory.executable, memory.pid) == ("//anon", False, 7)


def test_a_switch_on_a_whole_cpu_is_the_threads_own(ring, write_perf):
    rings = ring()
    rings._record(15, 1 << 13, struct.pack("<II", 77, 77) + rings._trailer(10, 11, 5))
    assert read_perf(write_perf(rings), IDS).records == [
        Switch(5, 10, 11, out=True, preempted=False)
    ]
