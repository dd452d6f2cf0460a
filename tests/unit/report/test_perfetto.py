"""The file for Perfetto: its structure, as the Trace Event format asks for it."""

import importlib.util
import json
from pathlib import Path

import pytest

from coldsoak.model.result import Result, Series
from coldsoak.report.perfetto import encode, write

_SPEC = importlib.util.spec_from_file_location(
    "perfetto_maker", Path(__file__).parents[1] / "ledger" / "conftest.py"
)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)


@pytest.fixture
def make():
    made = _MODULE.Maker().run(0, 100).run(100, 120)
    made.span("import", "torch", 0, 40).span("cuda.driver", "cuLaunchKernel", 50, 51, link=7)
    made.span("cuda.overhead", "LAZY_FUNCTION_LOADING", 50, 50.5, thread=None)
    made.op("kernel", "gemm", 52, 60, link=7).op("HtoD", "copy", 60, 61, moved=4096, link=8)
    made.event("fault.minor", 10, 5).event("fault.minor", 5, 3).event("read_bytes", 20, 4096)
    made.child("g++ x.cpp", 70, 90).off(91, 92, runnable=True).off(95, 96)
    return made


@pytest.fixture
def document(make, tmp_path):
    file = tmp_path / "first.json"
    write(make.trace(), make.launch(), make.ledgers(), file)
    assert [path.name for path in tmp_path.iterdir()] == ["first.json"]
    return json.loads(file.read_text())


@pytest.fixture
def events(document):
    return document["traceEvents"]


def named(events, name):
    return [event for event in events if event["name"] == name]


def test_every_event_has_the_fields_of_its_phase(events):
    needs = {
        "X": {"ts", "dur", "cat", "args"},
        "M": {"args"},
        "C": {"ts", "args"},
        "s": {"ts", "id", "cat"},
        "f": {"ts", "id", "cat", "bp"},
    }
    assert {event["ph"] for event in events} == set(needs)
    for event in events:
        assert needs[event["ph"]] <= set(event)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event.get("dur", 0) >= 0


def test_every_track_is_named(events):
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    for event in events:
        if event["ph"] == "X":
            assert event["pid"] in processes
            assert (event["pid"], event["tid"]) in threads or event["pid"] == 500


def test_times_are_microseconds(events):
    (span,) = named(events, "torch")
    assert (span["ts"], span["dur"]) == (0, 40_000)


def test_spans_carry_cause_and_colour(events):
    (span,) = named(events, "torch")
    assert span["cat"] == "process,import_python"
    assert span["cname"]


def test_a_flow_leads_from_the_call_to_its_kernel(events):
    (start,) = [e for e in events if e["ph"] == "s"]
    (end,) = [e for e in events if e["ph"] == "f"]
    assert start["id"] == end["id"]
    (call,), (kernel,) = named(events, "cuLaunchKernel"), named(events, "gemm")
    assert (start["pid"], start["tid"]) == (call["pid"], call["tid"])
    assert (end["pid"], end["tid"]) == (kernel["pid"], kernel["tid"])


def test_kernels_and_copies_of_a_stream_lie_apart(events):
    (kernel,), (copy,) = named(events, "gemm"), named(events, "copy")
    assert kernel["pid"] == copy["pid"] != 100
    assert kernel["tid"] != copy["tid"]
    assert copy["args"]["bytes"] == 4096


def test_counters_add_up_in_order_of_time(events):
    counts = [e["args"]["page faults"] for e in named(events, "page faults")]
    assert counts == [3, 8]
    assert [e["args"]["bytes read"] for e in named(events, "bytes read")] == [4096]


def test_regions_have_a_track(events):
    assert [e["dur"] for e in events if e.get("cat") == "region"] == [100_000, 20_000]


def test_the_bar_of_a_ledger_is_as_long_as_its_window(events, make):
    bars = [e for e in events if e["pid"] == 1_000_000_002 and e["ph"] == "X" and e["tid"] == 0]
    assert sum(e["dur"] for e in bars) == pytest.approx(make.ledgers()[0].total_ns / 1e3)


def test_only_preemptions_are_shown_off_the_cpu(events):
    assert [e["ts"] for e in named(events, "preempted")] == [91_000]


def test_a_result_gives_its_ledgers_and_the_names_of_its_series(make):
    made = make.ledgers()
    result = Result(
        version="0",
        id="x",
        kind="run",
        created="",
        series=(Series(id="s", kind="clock", label="loop, job.py:3-5"),),
        ledgers=(*made, *(m for m in ())),
    )
    content = json.loads(encode(make.trace(), make.launch(), result))["traceEvents"]
    names = {e["args"].get("name") for e in content if e["name"] == "thread_name"}
    assert {"loop, job.py:3-5", "region loop, job.py:3-5", "launch"} <= names
