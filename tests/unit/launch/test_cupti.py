"""The reader of CUPTI's raw records, on a file that the agent wrote on an H200 (CuPy, CUPTI 13.0)."""

from __future__ import annotations

import gzip
import struct
from collections import Counter
from pathlib import Path

import pytest

from coldsoak.launch import cupti

RECORDED = Path(__file__).parents[2] / "data" / "h200_cupti_cupy.bin.gz"


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "1.cupti"
    path.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    return path


def chunk(kind, payload):
    return struct.pack("<II", kind, len(payload)) + payload


def test_every_kind_of_record_is_read(recorded):
    records = cupti.read(recorded)
    assert Counter(call.source for call in records.calls) == {
        "cuda.driver": 1344,
        "cuda.runtime": 672,
        "cuda.overhead": 18,
        "cuda.jit": 6,
        "cuda.sync": 6,
    }
    assert {op.kind for op in records.operations} == {"kernel"}
    assert len(records.operations) == 51
    assert len(records.allocations) == 14
    (device,) = records.devices
    assert (device["name"], device["major"], device["multiprocessors"]) == ("NVIDIA H200", 9, 132)


def test_names_and_times_make_sense(recorded):
    records = cupti.read(recorded)
    names = {call.name for call in records.calls}
    assert {"cuLibraryLoadData", "cudaMalloc_v3020", "RUNTIME_TRIGGERED_MODULE_LOADING"} <= names
    assert all(call.end_ns >= call.start_ns for call in records.calls)
    span = max(c.end_ns for c in records.calls) - min(c.start_ns for c in records.calls)
    assert 0.3e9 < span < 3e9
    assert records.clock_error_ns < 10_000


def test_kernels_link_to_their_launches(recorded):
    records = cupti.read(recorded)
    launched = {call.correlation: call for call in records.calls if "Launch" in call.name}
    linked = [op for op in records.operations if op.correlation in launched]
    assert len(linked) == 51
    assert all(op.end_ns > launched[op.correlation].start_ns for op in linked)


def test_a_truncated_file_keeps_its_whole_chunks(recorded):
    data = recorded.read_bytes()
    recorded.write_bytes(data + chunk(1, b"x" * 40)[:20])
    assert len(cupti.read(recorded).operations) == 51
    recorded.write_bytes(data[: len(data) // 2])
    assert cupti.read(recorded) == cupti.CuptiRecords()  # the first chunk of texts is not whole


def test_older_and_shorter_records_are_stepped_over(tmp_path):
    api = struct.pack("<iIQQIIII", cupti.DRIVER, 7, 1_000, 3_000, 1, 42, 9, 0)
    overhead = struct.pack(
        "<iIi12sQQ", cupti.OVERHEAD, 1, 2, struct.pack("<III", 1, 42, 0), 1_500, 2_000
    )
    jit = struct.pack("<iiiIQQIIQQQ", cupti.JIT, 1, 3, 0, 1_000, 2_000, 9, 0, 0, 64, 0)
    path = tmp_path / "1.cupti"
    texts = "clock 100 900 300\nsize 4 40\nsize 17 40\nsize 52 64\napi 4 7 cuInit"
    path.write_bytes(chunk(1, api + overhead + jit + api) + chunk(2, texts.encode()))
    calls = cupti.read(path).calls
    assert [(c.name, c.thread) for c in calls] == [
        ("cuInit", 42),
        ("cuInit", 42),
        ("DRIVER_COMPILER", 42),
        ("COMPILE", 0),
    ]
    assert (calls[0].start_ns, calls[0].end_ns) == (300, 2_300)  # CUPTI 900 is 200 here


def test_without_a_clock_there_is_no_time(tmp_path):
    path = tmp_path / "1.cupti"
    path.write_bytes(chunk(2, b"size 4 40"))
    assert cupti.read(path) == cupti.CuptiRecords()
