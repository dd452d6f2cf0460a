"""What holds for any trace at all, of several processes and with records that make no sense.

Times go backwards and lie before the spawn, spans have no length or cross each other, a pid is used
twice, executions run on threads that nothing else is known of.
"""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coldsoak import ledger
from coldsoak.model.result import Execution, Launch, Process, Series
from coldsoak.model.trace import (
    DeviceOps,
    Events,
    Frames,
    OffCpu,
    Samples,
    Spans,
    Trace,
    TraceProcess,
    Track,
    pack,
    unpack,
)

SOURCES = (
    *("import", "import.find", "import.read", "import.exec", "import.compile", "dlopen", "gc"),
    *("cost", "cuda.driver", "cuda.runtime", "cuda.overhead", "cuda.sync", "cuda.jit", "child"),
    *("wait", "jax", "torch", "triton", "tensorflow", "onednn", "onnxruntime", "unheard of"),
)
NAMES = (
    *("numpy", "cuInit", "cuLaunchKernel", "cudaDeviceSynchronize_v3020", "cudaMemcpyAsync_v3020"),
    *("cudaMalloc_v3020", "cudaFree_v3020", "cuLibraryLoadData", "cuDevicePrimaryCtxRetain"),
    *("LAZY_FUNCTION_LOADING", "ACTIVITY_BUFFER_REQUEST", "COMMAND_BUFFER_FULL", "stream", "LOAD"),
    *("backend_compile", "trace", "cache_read", "autotune", "dynamo", "futex", "disk", "pipe"),
    *("sleep", "exit", "memory map", "run on the CPU", "exec matmul", "gen2", ""),
)
KINDS = ("kernel", "memset", "HtoD", "DtoH", "DtoD", "HtoH")
KERNELS = ("gemm_a", "gemm_b", "RedzoneAllocatorKernel", "xla_fp32_comparison", "")
LIBRARIES = (
    *("libpython3.12.so", "[kernel]", "libtorch_cpu.so", "libcuda.so.1", "libcublas.so.13"),
    *("libc.so.6", "ld-linux-x86-64.so.2", "libnvrtc.so.12", "libnvidia-ptxjitcompiler.so", ""),
)
SYMBOLS = (
    *("_PyEval_EvalFrameDefault", "exc_page_fault", "cuInit", "cuMemAlloc_v2", "clone3", "malloc"),
    *("gc_collect_main", "tcp_recvmsg", "page_cache_ra_unbounded", "Py_InitializeFromConfig", ""),
)
EVENTS = ("fault.major", "fault.minor", "read_bytes", "alloc", "free", "threads", "mmap")
STRINGS = (*SOURCES, *NAMES, *KINDS, *KERNELS, *LIBRARIES, *SYMBOLS, *EVENTS)
INDEX = {text: STRINGS.index(text) for text in STRINGS}

PIDS = (100, 101, 102)
moments = st.integers(-50, 400).map(lambda ms: ms * 500_000)
lengths = st.one_of(st.just(0), st.integers(-20, 200).map(lambda ms: ms * 300_000))
pids = st.sampled_from(PIDS)
links = st.integers(0, 4)


def texts(*some):
    return st.sampled_from([INDEX[text] for text in some])


def table(kind, rows, width, **fields):
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    names = [name for name in kind.__struct_fields__ if name not in {"period_ns", "stacks"}]
    return kind(**dict(zip(names, map(pack, columns), strict=True)), **fields)


@st.composite
def stretches(draw):
    start = draw(moments)
    return start, start + draw(lengths)


@st.composite
def traces(draw):
    tracks = draw(
        st.lists(st.tuples(pids, st.sampled_from([0, 100, 101, 102, 7])), min_size=1, unique=True)
    )
    track = st.integers(0, len(tracks) - 1)
    detail = st.just(-1)
    spans = draw(
        st.lists(st.tuples(stretches(), track, texts(*SOURCES), texts(*NAMES), detail, links))
    )
    ops = draw(
        st.lists(
            st.tuples(
                *(stretches(), pids, st.integers(0, 1), st.integers(0, 1), texts(*KINDS)),
                *(texts(*KERNELS), st.integers(0, 1 << 40), links),
            ),
            max_size=8,
        )
    )
    frames = draw(st.lists(st.tuples(texts(*LIBRARIES), texts(*SYMBOLS)), min_size=1, max_size=6))
    frame = st.integers(0, len(frames) - 1)
    stacks = draw(st.lists(st.lists(frame, max_size=4).map(tuple), min_size=1, max_size=5))
    samples = draw(st.lists(st.tuples(moments, track, st.integers(0, len(stacks) - 1))))
    off = draw(st.lists(st.tuples(stretches(), track, st.integers(0, 1)), max_size=8))
    value = st.sampled_from([0, 1, 9, 5 << 30])
    events = draw(
        st.lists(st.tuples(moments, track, texts(*EVENTS), value, st.just(-1)), max_size=8)
    )
    processes = draw(st.lists(trace_processes(), max_size=4))
    return Trace(
        launch=1,
        arm="arm",
        strings=STRINGS,
        tracks=tuple(Track(pid=p, tid=t, main=p == t) for p, t in tracks),
        processes=tuple(processes),
        spans=table(Spans, [(*ends, *rest) for ends, *rest in spans], 7),
        device=table(DeviceOps, [(*ends, *rest) for ends, *rest in ops], 9),
        samples=table(Samples, samples, 3, period_ns=draw(st.sampled_from([0, 1, 1_000_000]))),
        frames=table(Frames, frames, 2, stacks=tuple(stacks)),
        off_cpu=table(OffCpu, [(*ends, *rest) for ends, *rest in off], 4),
        events=table(Events, events, 5),
    )


@st.composite
def trace_processes(draw):
    start, end = draw(stretches())
    return TraceProcess(
        pid=draw(st.sampled_from([*PIDS, 500])),
        ppid=draw(st.sampled_from([1, *PIDS])),
        argv=draw(st.sampled_from([(), ("python",), ("/usr/bin/g++", "x.cpp")])),
        start_ns=start,
        end_ns=draw(st.sampled_from([None, end])),
        cpu_ns=draw(st.sampled_from([None, 0, 10**8])),
        parent_thread=draw(st.sampled_from([0, 100, 7])),
    )


@st.composite
def processes(draw):
    start, end = draw(stretches())
    moment = st.one_of(st.none(), moments)
    return Process(
        pid=draw(pids),
        ppid=1,
        argv=("python",),
        how="script",
        python="3.12",
        executable="python",
        start_ns=start,
        ready_ns=start + draw(lengths),
        agent_ns=draw(lengths),
        main_end_ns=draw(moment),
        exit_ns=draw(moment),
        end_ns=draw(st.sampled_from([None, end])),
    )


@st.composite
def executions(draw):
    runs = []
    for series in draw(st.lists(st.sampled_from("ab"), max_size=30)):
        start, end = draw(stretches())
        run = Execution(
            series=series,
            run=sum(one.series == series for one in runs),
            pid=draw(pids),
            thread=draw(st.sampled_from([100, 101, 7])),
            start_ns=start,
            end_ns=end,
            seconds=(end - start) / 1e9,
            ready_ns=draw(st.one_of(st.none(), moments)),
        )
        runs.append(run)
    return tuple(runs)


@st.composite
def launches(draw):
    return Launch(
        index=1,
        round=1,
        arm="arm",
        kind="traced",
        wall_ns=draw(st.sampled_from([0, 1, 10**6, 2 * 10**8])),
        processes=tuple(draw(st.lists(processes(), max_size=3))),
        executions=draw(executions()),
    )


def check(made):
    for each in made:
        assert each.total_ns == each.end_ns - each.start_ns >= 0
        assert sum(line.ns for line in each.lines) + each.measurement_ns == each.total_ns
        assert all(line.ns >= 0 and line.steady_ns >= 0 for line in each.lines)
        causes = [line.cause for line in each.lines]
        assert len(causes) == len(set(causes))
        assert causes[-1].value == "unattributed"
        for line in each.lines:
            assert sum(item.ns for item in line.evidence.items) <= line.ns
            assert line.evidence.count >= 0
            assert line.evidence.bytes >= 0
    assert [one.scope for one in made][-1] == "launch"


def essence(made):
    return [
        (
            (one.scope, one.series, one.measurement_ns, one.total_ns),
            {line.cause: (line.ns, round(line.steady_ns, 3)) for line in one.lines},
        )
        for one in made
    ]


WIDE = settings(deadline=None, max_examples=100)


@WIDE
@given(traces(), launches())
def test_causes_and_the_rest_are_the_wall_time(trace, launch):
    check(ledger.attribute(trace, launch))


@WIDE
@given(launches())
def test_a_trace_of_nothing_leaves_everything_unattributed(launch):
    made = ledger.attribute(Trace(launch=1, arm="arm"), replace(launch, processes=()))
    check(made)
    for each in made:
        assert [line.cause.value for line in each.lines] == ["unattributed"]
        assert each.lines[0].ns == each.total_ns


@WIDE
@given(traces(), launches(), st.sets(st.sampled_from("abc")))
def test_a_choice_of_series_chooses_ledgers_and_changes_none(trace, launch, chosen):
    series = [Series(id=name, kind="clock", label=name) for name in sorted(chosen)]
    wanted = chosen & {one.series for one in launch.executions}
    some = ledger.attribute(trace, launch, series=series)
    every = ledger.attribute(trace, launch)
    if wanted:
        kept = [one for one in every if one.scope != "region" or one.series in wanted]
        assert essence(some) == essence(kept)
    else:
        assert essence(some) == essence(every)


PARTS = ("spans", "device", "samples", "off_cpu", "events")


@WIDE
@given(traces(), launches(), st.sets(st.sampled_from((*PARTS, "processes"))))
def test_whatever_is_not_seen_the_sum_is_the_same(trace, launch, lost):
    less = replace(trace, **{name: type(getattr(trace, name))() for name in lost})
    before, after = ledger.attribute(trace, launch), ledger.attribute(less, launch)
    check(after)
    assert [one.total_ns for one in before] == [one.total_ns for one in after]


@WIDE
@given(traces(), launches(), st.sampled_from(SOURCES))
def test_without_one_source_of_spans_the_sum_is_the_same(trace, launch, source):
    keep = [value != INDEX[source] for value in unpack(trace.spans.source)]
    columns = {
        name: pack(v for v, kept in zip(unpack(column), keep, strict=True) if kept)
        for name in trace.spans.__struct_fields__
        if isinstance(column := getattr(trace.spans, name), bytes)
    }
    less = replace(trace, spans=Spans(**columns))
    before, after = ledger.attribute(trace, launch), ledger.attribute(less, launch)
    check(after)
    assert [one.total_ns for one in before] == [one.total_ns for one in after]


@WIDE
@given(traces(), launches(), st.integers(0, 2**32))
def test_neither_the_order_of_records_nor_their_numbering_matters(trace, launch, seed):
    chance = random.Random(seed)
    other = renumbered(shuffled(trace, chance), chance)
    runs = list(launch.executions)
    chance.shuffle(runs)
    again = ledger.attribute(other, replace(launch, executions=tuple(runs)))
    assert essence(again) == essence(ledger.attribute(trace, launch))


def shuffled(trace, chance):
    """Return the trace with the rows of each table in another order."""
    moved = {}
    for part in PARTS:
        columns = columns_of(getattr(trace, part))
        order = list(range(len(next(iter(columns.values())))))
        chance.shuffle(order)
        rows = {name: pack(values[i] for i in order) for name, values in columns.items()}
        moved[part] = replace(getattr(trace, part), **rows)
    return replace(trace, **moved)


def renumbered(trace, chance):
    """Return the trace with its strings and tracks in another order."""
    strings = permutation(len(trace.strings), chance)
    tracks = permutation(len(trace.tracks), chance)
    numbers = {"track": tracks}
    numbers |= dict.fromkeys(("source", "name", "kind", "library", "symbol"), strings)
    moved = {}
    for part in (*PARTS, "frames"):
        rows = {
            name: pack(numbers[name][v] if v >= 0 else v for v in values)
            for name, values in columns_of(getattr(trace, part)).items()
            if name in numbers
        }
        moved[part] = replace(getattr(trace, part), **rows)
    return replace(
        trace,
        strings=ordered(trace.strings, strings),
        tracks=ordered(trace.tracks, tracks),
        **moved,
    )


def columns_of(part):
    found = {name: getattr(part, name) for name in part.__struct_fields__}
    return {name: unpack(value) for name, value in found.items() if isinstance(value, bytes)}


def permutation(count, chance):
    order = list(range(count))
    chance.shuffle(order)
    return order


def ordered(values, places):
    moved = list(values)
    for place, value in zip(places, values, strict=True):
        moved[place] = value
    return tuple(moved)
