from __future__ import annotations

import contextlib
import gzip
import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldsoak.errors import FormatError
from coldsoak.launch.procsampler import FILE_NAME, ProcSampler
from coldsoak.launch.symbols import Kernel
from coldsoak.launch.trace import build, load_trace, save
from coldsoak.model import spool
from coldsoak.model.result import Child, Launch, Process, SourceState
from coldsoak.model.trace import TRACE_FORMAT, unpack

T0 = 1_000_000
LAUNCH = Launch(index=3, round=1, arm="base", kind="traced")
PROCESS = spool.Process(
    1, 10, 1, 10, T0 + 500, "3.11", "/bin/python", ["python", "a.py"], "/", "script", 0
)
IDS = {"1": "clock", "2": "switch", "3": "fault.minor", "4": "fault.major"}
KERNEL = 1 << 63


def perf_file(info=None):
    return spool.File("perf", "10-1.perf", {"ids": IDS, "minor_period": 32, **(info or {})})


def make(tmp_path, *records, children=(), **kwargs):
    contents = [[PROCESS, *records]]
    return build(contents, launch=LAUNCH, folder=tmp_path, t0_ns=T0, children=children, **kwargs)


def rows(trace, table, *names):
    """Return a table's rows with string indices resolved."""
    texts = {"source", "name", "detail", "kind"}
    columns = []
    for name in names:
        values = unpack(getattr(table, name))
        columns.append(
            [trace.strings[v] if v >= 0 else "" for v in values] if name in texts else list(values)
        )
    return list(zip(*columns, strict=True))


def test_spans_of_an_agent_keep_thread_time_and_arguments(tmp_path):
    trace = make(
        tmp_path,
        spool.Span("jax", "trace", 12, T0 + 50, T0 + 90, {"fun_name": "f", "hit": True}),
        spool.Cost("perf", 10, T0 + 5, T0 + 9),
        spool.Imported("numpy", 10, T0 + 10, T0 + 40, 0, "/np.py", 7, 0),
    )
    assert rows(trace, trace.spans, "start", "end", "source", "name", "detail") == [
        (5, 9, "cost", "perf", ""),
        (10, 40, "import", "numpy", "/np.py"),
        (10, 17, "import.compile", "numpy", ""),
        (50, 90, "jax", "trace", "fun_name=f, hit=True"),
    ]
    last = trace.tracks[unpack(trace.spans.track)[-1]]
    assert (last.pid, last.tid, last.main) == (10, 12, False)


def test_the_agents_own_compile_spans_are_not_doubled(tmp_path):
    trace = make(
        tmp_path,
        spool.Span("import.compile", "a.py", 10, T0 + 12, T0 + 15),
        spool.Imported("a", 10, T0 + 10, T0 + 40, 0, "a.py", 3, 0),
    )
    names = [source for (source,) in rows(trace, trace.spans, "source")]
    assert names == ["import", "import.compile"]


def test_points_become_events(tmp_path):
    trace = make(tmp_path, spool.Span("point", "read_bytes", 10, T0 + 7, T0 + 7, {"value": 4096}))
    assert rows(trace, trace.events, "time", "kind", "value") == [(7, "read_bytes", 4096)]
    assert trace.spans.start == b""


def test_a_wait_is_named_by_the_kernel_stack_and_a_preemption_is_not(
    tmp_path, ring, write_perf, monkeypatch
):
    kernel = Kernel(f"{KERNEL:x} T futex_do_wait\n{KERNEL + 64:x} T other\n")
    monkeypatch.setattr("coldsoak.launch.samples.Kernel", lambda: kernel)
    where = KERNEL + 5
    cpu0 = ring().sample(T0 + 100, where, 0x1000, event=2).switch(T0 + 101, out=True)
    cpu0.switch(T0 + 90_000, out=True, preempted=True, tid=11)
    cpu1 = ring().switch(T0 + 60_000, out=False).switch(T0 + 95_000, out=False, tid=11)
    write_perf(cpu0, cpu1)
    trace = make(tmp_path, perf_file())
    assert rows(trace, trace.off_cpu, "start", "end", "runnable") == [
        (101, 60_000, 0),
        (90_000, 95_000, 1),
    ]
    assert rows(trace, trace.spans, "source", "name", "start", "end", "detail") == [
        ("wait", "futex", 101, 60_000, "[unmapped]")
    ]


def test_samples_carry_their_library_through_fork_and_exec(tmp_path, ring, write_perf):
    rings = ring().sample(T0 + 10, 0x1010)
    rings.fork(T0 + 20, 20, 10, 20, 10).sample(T0 + 30, 0x1010, pid=20, tid=20)
    rings.comm(T0 + 40, 20, "g++", executed=True).sample(T0 + 50, 0x1010, pid=20, tid=20)
    rings.mmap(T0 + 60, 0x1000, 0x100, "/usr/bin/g++", pid=20)
    rings.sample(T0 + 70, 0x1010, pid=20, tid=20).exit(T0 + 90, 20, 10)
    write_perf(rings, maps=((10, "1000-2000 r-xp 0 08:01 1 /lib/a.so\n"),))
    trace = make(
        tmp_path,
        perf_file(),
        spool.Child(10, T0 + 15, "spawn", ["g++", "-O2", "x.cpp"]),
    )
    frames = unpack(trace.frames.library)
    seen = [
        trace.strings[frames[trace.frames.stacks[stack][0]]]
        for stack in unpack(trace.samples.stack)
    ]
    assert seen == ["a.so", "a.so", "[unmapped]", "g++"]
    child = next(process for process in trace.processes if process.pid == 20)
    assert child.argv == ("g++", "-O2", "x.cpp")
    assert (child.ppid, child.parent_thread, child.start_ns, child.end_ns) == (10, 10, 20, 90)
    assert ("child", "g++", "g++ -O2 x.cpp") in rows(trace, trace.spans, "source", "name", "detail")


def test_faults_count_by_their_period_and_name_the_file(tmp_path, ring, write_perf):
    rings = ring().sample(T0 + 1, 0x1, event=3, address=0x1500)
    rings.sample(T0 + 2, 0x1, event=4, address=0x1500).sample(T0 + 3, 0x1, event=3, address=0x9)
    write_perf(rings, maps=((10, "1000-2000 r-xp 0 08:01 1 /lib/a.so\n"),))
    trace = make(tmp_path, perf_file())
    assert rows(trace, trace.events, "kind", "value", "name") == [
        ("fault.minor", 32, "a.so"),
        ("fault.major", 1, "a.so"),
        ("fault.minor", 32, ""),
    ]
    assert trace.samples.time == b""


def test_new_threads_are_events_and_have_names(tmp_path, ring, write_perf):
    write_perf(ring().fork(T0 + 5, 10, 10, 31, 10))
    trace = make(tmp_path, perf_file())
    assert rows(trace, trace.events, "kind", "value") == [("threads", 1)]


def test_a_new_thread_is_runnable_until_its_first_turn(tmp_path, ring, write_perf):
    rings = ring().fork(T0 + 5, 10, 10, 31, 10).switch(T0 + 9, out=False, tid=31)
    rings.switch(T0 + 20, out=True, tid=31).switch(T0 + 30, out=False, tid=31)
    write_perf(rings)
    trace = make(tmp_path, perf_file())
    assert rows(trace, trace.off_cpu, "start", "end", "runnable") == [(5, 9, 1), (20, 30, 0)]


@pytest.mark.parametrize("damage", ["lost", "truncated", "empty", "missing"])
def test_a_perf_file_that_is_not_whole_says_so(tmp_path, ring, write_perf, damage):
    if damage == "lost":
        write_perf(ring().lost(9).sample(T0, 1))
    elif damage == "truncated":
        write_perf(ring().sample(T0, 1), tail=b"\0\0\0\0\x10\0\0\0" + b"\0" * 9)
    elif damage == "empty":
        write_perf()
    trace = make(tmp_path, spool.Source("perf", "on", "", 7), perf_file())
    state = next(source for source in trace.sources if source.name == "perf")
    assert state.state == "lost"
    assert state.lost == (9 if damage == "lost" else 0)
    assert state.reason or damage == "lost"


def test_the_last_word_of_a_source_counts_with_its_largest_cost(tmp_path):
    trace = make(
        tmp_path,
        spool.Source("jax", "on", "", 5000),
        spool.Source("jax", "off", "unknown version of jax: no register"),
    )
    assert trace.sources == (
        SourceState(
            name="jax", state="off", reason="unknown version of jax: no register", cost_ns=5000
        ),
    )


def test_a_bulk_file_that_is_not_whole_outlives_what_the_agent_says_later(tmp_path):
    on = spool.Source("perf", "on", "user and kernel at 1 kHz of CPU time", 7)
    trace = make(tmp_path, perf_file(), on)
    (perf,) = trace.sources
    assert (perf.state, perf.cost_ns) == ("lost", 7)
    assert perf.reason.startswith("the bulk file cannot be read")


def test_a_process_that_replaced_its_program_is_one_process(tmp_path):
    """exec keeps the pid: whoever waits for it waits from its start on."""
    first = ran(pid=30, argv=("python", "wrapper.py"), start_ns=50, end_ns=70)
    second = ran(pid=30, argv=("python", "job.py"), start_ns=70, end_ns=90)
    launch = msgspec.structs.replace(LAUNCH, processes=(ran(pid=10), first, second))
    trace = build([], launch=launch, folder=tmp_path, t0_ns=T0)
    found = next(process for process in trace.processes if process.pid == 30)
    assert (found.start_ns, found.end_ns, found.argv[1]) == (50, 90, "job.py")


def test_a_pid_that_is_used_again_is_another_process(tmp_path):
    first, second = ran(pid=30, start_ns=50, end_ns=70), ran(pid=30, start_ns=80, end_ns=90)
    launch = msgspec.structs.replace(LAUNCH, processes=(ran(pid=10), first, second))
    trace = build([], launch=launch, folder=tmp_path, t0_ns=T0)
    found = next(process for process in trace.processes if process.pid == 30)
    assert (found.start_ns, found.end_ns) == (80, 90)


def ran(**fields):
    """Return a process of the launch that carried the agent."""
    made = {"pid": 10, "ppid": 10, "argv": ("python",), "how": "script", "python": "3.12"}
    made |= {"executable": "python", "start_ns": 0, "ready_ns": 0, "agent_ns": 0}
    return Process(**(made | fields))


def test_children_without_an_agent_join_the_tree(tmp_path):
    child = Child(pid=30, ppid=10, argv=("nvcc", "a.cu"), start_ns=50, end_ns=80, cpu_s=0.25)
    trace = make(tmp_path, children=(child,))
    found = next(process for process in trace.processes if process.pid == 30)
    assert (found.cpu_ns, found.agent) == (250_000_000, False)
    assert rows(trace, trace.spans, "source", "name", "start") == [("child", "nvcc", 50)]


def test_onednn_lines_become_spans_on_the_main_thread(tmp_path):
    log = tmp_path / "000.log"
    ms = (T0 + 2_000_000 + time.time_ns() - time.monotonic_ns()) / 1e6
    log.write_text(
        f"hello\nonednn_verbose,v1,{ms:.6f},primitive,create:cache_miss,cpu,matmul,brg,undef,s,a,,8x8,0.5\n"
    )
    trace = make(tmp_path, log=log)
    ((start, end, name, detail),) = rows(trace, trace.spans, "start", "end", "name", "detail")
    assert abs(start - 2_000_000) < 1_000_000
    assert end - start == 500_000
    assert (name, detail) == ("matmul brg", "hit=False, key=8x8")


def test_the_parents_view_is_used_only_where_perf_is_missing(tmp_path, ring, write_perf):
    looks = [
        [T0 + 10, 10, 10, "R", 5, ""],
        [T0 + 20, 10, 10, "S", 7, "futex_do_wait"],
        [T0 + 30, 10, 10, "S", 7, "futex_do_wait"],
    ]
    (tmp_path / FILE_NAME).write_text("".join(json.dumps(look) + "\n" for look in looks))
    trace = make(tmp_path)
    assert list(unpack(trace.samples.time)) == [20, 20]
    assert trace.samples.period_ns >= 1_000_000
    assert rows(trace, trace.spans, "source", "name", "start", "end") == [("wait", "futex", 20, 30)]
    write_perf(ring().sample(T0 + 10, 1))
    trace = make(tmp_path, perf_file())
    assert list(unpack(trace.samples.time)) == [10]


def test_a_sampler_that_sees_nothing_leaves_an_empty_file(tmp_path):
    with ProcSampler(tmp_path):
        pass
    assert (tmp_path / FILE_NAME).read_text() == ""


def test_a_trace_survives_saving(tmp_path, ring, write_perf):
    write_perf(ring().sample(T0 + 10, 0x1010))
    trace = make(tmp_path, perf_file(), spool.Span("jax", "trace", 10, T0, T0 + 1))
    path = tmp_path / "000.trace.gz"
    save(trace, path)
    assert load_trace(path) == trace
    assert not list(tmp_path.glob("*.part"))


def test_what_is_no_text_is_saved_all_the_same(tmp_path, ring, write_perf):
    """The kernel cuts a thread's name after 15 bytes, in the middle of a letter too."""
    name = b"caf\xc3".decode(errors="surrogateescape")
    write_perf(ring().comm(T0 + 5, 10, name).sample(T0 + 10, 0x1010))
    trace = make(tmp_path, perf_file())
    save(trace, tmp_path / "x.gz")
    read = load_trace(tmp_path / "x.gz")
    assert [track.name for track in read.tracks] == ["caf\ufffd"]
    assert (read.samples, read.frames) == (trace.samples, trace.frames)


@pytest.mark.parametrize("value", [b"\xff\xff", b"\0\0"])
def test_a_damaged_bulk_file_costs_its_records_and_nothing_else(tmp_path, ring, write_perf, value):
    whole = write_perf(ring().sample(T0 + 10, 0x1010, 0x2020)).read_bytes()
    span = spool.Span("jax", "trace", 10, T0, T0 + 1)
    for place in range(len(whole)):
        (tmp_path / "10-1.perf").write_bytes(whole[:place] + value + whole[place + len(value) :])
        trace = make(tmp_path, perf_file(), span)
        assert rows(trace, trace.spans, "source", "name") == [("jax", "trace")]


def test_a_record_with_a_number_that_no_column_holds_is_left_out(tmp_path):
    trace = make(
        tmp_path,
        spool.Span("jax", "trace", 10, T0, T0 + 1),
        spool.Span("jax", "trace", 10, T0, 2**64 - 1),
        spool.Span("point", "read_bytes", 10, T0, T0, {"value": 2**63}),
    )
    assert rows(trace, trace.spans, "start", "end") == [(0, 1)]
    assert trace.events.time == b""


def test_what_is_no_trace_is_refused(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(b"not gzip")
    with pytest.raises(FormatError, match="not a trace"):
        load_trace(path)
    path.write_bytes(gzip.compress(msgspec.msgpack.encode({"arm": "a"})))
    with pytest.raises(FormatError, match="not a trace"):
        load_trace(path)


def test_a_newer_trace_says_so_whatever_is_in_it(tmp_path):
    path = tmp_path / "x.gz"
    newer = {"format": TRACE_FORMAT + 1, "spans": "elsewhere"}
    path.write_bytes(gzip.compress(msgspec.msgpack.encode(newer)))
    with pytest.raises(FormatError, match="trace format"):
        load_trace(path)


def test_a_saved_trace_says_its_format(tmp_path):
    path = tmp_path / "x.gz"
    save(make(tmp_path), path)
    assert msgspec.msgpack.decode(gzip.decompress(path.read_bytes()))["format"] == TRACE_FORMAT


def test_a_trace_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken" / "file").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        save(make(tmp_path), tmp_path / "taken")
    assert [one.name for one in tmp_path.iterdir()] == ["taken"]


@given(place=st.integers(0, 10**6), flip=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_trace_is_refused_or_whole(tmp_path_factory, place, flip, cut):
    folder = tmp_path_factory.mktemp("trace")
    trace = make(folder, spool.Span("jax", "trace", 10, T0, T0 + 1))
    save(trace, folder / "x.gz")
    data = bytearray((folder / "x.gz").read_bytes())
    data[place % len(data)] ^= flip
    (folder / "x.gz").write_bytes(data[: place % len(data)] if cut else data)
    with contextlib.suppress(FormatError):
        assert load_trace(folder / "x.gz") == trace


def test_a_file_without_its_first_record_is_left_out(tmp_path):
    contents = [[spool.Cost("perf", 1, 2, 3)], []]
    trace = build(contents, launch=LAUNCH, folder=tmp_path, t0_ns=T0)
    assert trace.processes == ()
    assert trace.tracks == ()


def test_of_whole_cpus_only_the_familys_records_count(tmp_path, ring, write_perf):
    rings = ring().sample(T0 + 1, 0x1).sample(T0 + 2, 0x1, pid=99, tid=99)
    rings.fork(T0 + 3, 98, 99, 98, 99).sample(T0 + 4, 0x1, pid=98, tid=98)
    rings.fork(T0 + 5, 20, 10, 20, 10).sample(T0 + 6, 0x1, pid=20, tid=20)
    write_perf(rings)
    trace = make(tmp_path, perf_file({"mode": "cpu", "pid": 10}))
    assert list(unpack(trace.samples.time)) == [1, 6]
    assert {process.pid for process in trace.processes} == {10, 20}
