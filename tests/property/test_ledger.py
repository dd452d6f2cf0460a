"""What holds for every trace: sums, independence of order and of the zero of time."""

import importlib.util
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coldsoak import ledger
from coldsoak.model.trace import pack, unpack

_SPEC = importlib.util.spec_from_file_location(
    "ledger_maker", Path(__file__).parents[1] / "unit" / "ledger" / "conftest.py"
)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
Maker = _MODULE.Maker

SPANS = [
    ("import", "package.module"),
    ("import.exec", "package.module"),
    ("import.compile", "package/module.py"),
    ("dlopen", "package._c"),
    ("gc", "gen2"),
    ("cost", "hook"),
    ("cuda.runtime", "cudaMalloc_v3020"),
    ("cuda.runtime", "cudaDeviceSynchronize_v3020"),
    ("cuda.runtime", "cudaMemcpyAsync_v3020"),
    ("cuda.driver", "cuLaunchKernel"),
    ("cuda.driver", "cuLibraryLoadData"),
    ("cuda.overhead", "LAZY_FUNCTION_LOADING"),
    ("cuda.overhead", "ACTIVITY_BUFFER_REQUEST"),
    ("cuda.sync", "stream"),
    ("jax", "backend_compile"),
    ("torch", "dynamo"),
    ("wait", "futex"),
    ("wait", "disk"),
    ("nobody knows", "this"),
]
STACKS = [
    ("libpython3.12.so:_PyEval_EvalFrameDefault",),
    ("[kernel]:exc_page_fault", "libtorch_cpu.so:"),
    ("libtensorflow_cc.so.2:_ZN5Xbyak13CodeGeneratorE",),
    ("libc.so.6:malloc",),
    ("libcublas.so.13:",),
]
moments = st.integers(0, 200)
threads = st.integers(0, 2)
intervals = st.tuples(moments, st.integers(0, 60))
links = st.integers(0, 5)


@st.composite
def makers(draw):
    make = Maker()
    make.wall = draw(st.integers(150, 300))
    for start, length in draw(st.lists(intervals, max_size=4)):
        make.run(start, start + length, thread=draw(threads))
    for start, length in draw(st.lists(intervals, max_size=15)):
        source, name = draw(st.sampled_from(SPANS))
        thread = (
            draw(st.one_of(threads, st.none()))
            if source in {"cuda.overhead", "cuda.sync"}
            else draw(threads)
        )
        make.span(source, name, start, start + length, thread=thread, link=draw(links))
    for start, length in draw(st.lists(intervals, max_size=6)):
        kind = draw(st.sampled_from(["kernel", "HtoD", "DtoH", "memset"]))
        make.op(
            kind, draw(st.sampled_from("abc")), start, start + length, moved=9, link=draw(links)
        )
    for start, length in draw(st.lists(intervals, max_size=6)):
        make.off(start, start + length, thread=draw(threads), runnable=draw(st.booleans()))
    for time in draw(st.lists(moments, max_size=12)):
        make.sample(time, *draw(st.sampled_from(STACKS)), thread=draw(threads))
    for start, length in draw(st.lists(intervals, max_size=2)):
        pid = 500 + len(make.children)
        make.child(
            "g++ x.cpp", start, start + length, cpu=draw(st.sampled_from([None, 0, 40])), pid=pid
        )
    for time in draw(st.lists(moments, max_size=4)):
        kind = draw(st.sampled_from(["fault.major", "read_bytes", "alloc"]))
        make.event(kind, time, draw(st.sampled_from([0, 1, 5 << 30])))
    return make


def sums(made):
    for each in made:
        assert sum(line.ns for line in each.lines) + each.measurement_ns == each.total_ns
        assert each.total_ns == each.end_ns - each.start_ns
        assert all(line.ns >= 0 for line in each.lines)
        causes = [line.cause for line in each.lines]
        assert len(causes) == len(set(causes))
        assert causes[-1].value == "unattributed"
        assert all(len(line.evidence.items) <= 8 for line in each.lines)
        for line in each.lines:
            assert sum(item.ns for item in line.evidence.items) <= line.ns


@settings(deadline=None, max_examples=150)
@given(makers())
def test_sums_are_exact(make):
    sums(make.ledgers())


TABLES = ["spans", "device", "samples", "off_cpu", "events"]


@settings(deadline=None, max_examples=80)
@given(makers(), st.sampled_from(TABLES))
def test_losing_a_source_changes_the_detail_but_never_the_sum(make, table):
    trace = make.trace()
    less = replace(trace, **{table: type(getattr(trace, table))()})
    before, after = ledger.attribute(trace, make.launch()), ledger.attribute(less, make.launch())
    sums(after)
    assert [each.total_ns for each in before] == [each.total_ns for each in after]


@settings(deadline=None, max_examples=80)
@given(makers(), st.integers(0, 10**6))
def test_the_order_of_the_records_does_not_matter(make, seed):
    trace = make.trace()
    shuffled = {name: shuffle(getattr(trace, name), seed) for name in TABLES}
    again = ledger.attribute(replace(trace, **shuffled), make.launch())
    assert [essence(each) for each in again] == [
        essence(each) for each in ledger.attribute(trace, make.launch())
    ]


def shuffle(table, seed):
    """Return ``table`` with its rows in another order, the same in all columns."""
    columns = {n: v for n in table.__struct_fields__ if isinstance(v := getattr(table, n), bytes)}
    count = len(next(iter(columns.values()))) // 8
    order = list(range(count))
    random.Random(seed).shuffle(order)
    moved = {n: pack(unpack(v)[i] for i in order) for n, v in columns.items() if v}
    return replace(table, **moved)


def essence(made):
    return (
        made.scope,
        made.series,
        made.measurement_ns,
        {line.cause: (line.ns, round(line.steady_ns, 3)) for line in made.lines},
    )


@settings(deadline=None, max_examples=80)
@given(makers(), st.integers(-(10**9), 10**9))
def test_the_zero_of_time_does_not_matter(make, shift):
    trace, launch = make.trace(), make.launch()
    moved = replace(
        trace,
        spans=shifted(trace.spans, shift, "start", "end"),
        device=shifted(trace.device, shift, "start", "end"),
        samples=shifted(trace.samples, shift, "time"),
        off_cpu=shifted(trace.off_cpu, shift, "start", "end"),
        events=shifted(trace.events, shift, "time"),
        processes=tuple(later(p, shift) if p.end_ns is not None else p for p in trace.processes),
    )
    runs = tuple(later(e, shift) for e in launch.executions)
    process = launch.processes[0]
    process = replace(process, start_ns=process.start_ns + shift, ready_ns=process.ready_ns + shift)
    after = ledger.attribute(moved, replace(launch, executions=runs, processes=(process,)))
    before = ledger.attribute(trace, launch)
    regions = [essence(each) for each in before if each.scope == "region"]
    assert [essence(each) for each in after if each.scope == "region"] == regions


def later(record, shift):
    return replace(record, start_ns=record.start_ns + shift, end_ns=record.end_ns + shift)


def shifted(table, shift, *names):
    moved = {n: pack(v + shift for v in unpack(getattr(table, n))) for n in names}
    return replace(table, **moved)
