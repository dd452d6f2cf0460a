"""Windows, steady parts, evidence and the corrections that need more than one record."""

import json

import msgspec
import pytest

from coldsoak.model.result import Execution, Series
from coldsoak.model.trace import Trace

MS = 1_000_000


def line(ledger, cause):
    return next(each for each in ledger.lines if each.cause.value == cause)


def test_the_cold_part_is_run_zero_less_the_steady_runs_of_the_same_launch(make):
    make.span("cuda.driver", "cuInit", 0, 40).span("cuda.driver", "cuLaunchKernel", 40, 50)
    for i in range(1, 5):
        make.run(i * 100, i * 100 + 20)
        make.span("cuda.driver", "cuLaunchKernel", i * 100, i * 100 + 2 * i)
    first = make.ledgers()[0]
    launches = line(first, "kernel_launch")
    assert (first.steady_runs, first.steady_total_ns) == (3, 20 * MS)  # runs 2, 3 and 4 of 5
    assert launches.steady_ns == pytest.approx(6 * MS)
    assert launches.cold_ns == pytest.approx(4 * MS)
    assert [each.cause.value for each in first.lines] == [
        "driver_init",
        "kernel_launch",
        "unattributed",
    ]


def test_a_short_series_takes_what_later_runs_there_are(make):
    make.run(100, 110).run(200, 230)
    assert make.ledgers()[0].steady_total_ns == 20 * MS


def test_a_long_series_is_steady_from_its_change_point(make):
    for i in range(1, 15):
        make.run(100 * i, 100 * i + 50)
    for i in range(15, 60):
        make.run(100 * i, 100 * i + 10 + i % 2 * 0.01)
    make.wall = 7000
    first = make.ledgers()[0]
    assert first.steady_runs == 45
    assert first.steady_total_ns == pytest.approx(10 * MS, rel=0.01)


def test_scopes_and_their_order(make):
    make.run(300, 400, series="late").run(150, 200, series="early", thread=2)
    made = make.ledgers()
    assert [(each.scope, each.series) for each in made] == [
        ("region", "s"),
        ("region", "early"),
        ("region", "late"),
        ("first result", "s"),
        ("launch", ""),
    ]
    assert [each.thread for each in made] == [100, 102, 100, 100, 100]
    assert made[3].total_ns == 100 * MS
    assert made[4].total_ns == 1000 * MS


def test_the_first_result_is_there_when_the_first_region_ends(make):
    """A region around the others begins first and gives its result last."""
    make.run(20, 60, series="inner").run(70, 90, series="inner")
    inner = next(each for each in make.ledgers() if each.scope == "first result")
    assert (inner.series, inner.total_ns) == ("inner", 60 * MS)


def test_a_region_that_ended_before_the_spawn_has_an_empty_way_to_it():
    from coldsoak import ledger
    from coldsoak.model.result import Launch

    run = Execution(
        series="s", run=0, pid=1, thread=1, start_ns=-9, end_ns=-5, seconds=4e-9, ready_ns=-3
    )
    launch = Launch(index=0, round=1, arm="a", kind="traced", wall_ns=5, executions=(run,))
    region, first, whole = ledger.attribute(Trace(launch=0, arm="a"), launch)
    assert (region.total_ns, first.total_ns, whole.total_ns) == (4, 0, 5)


def test_only_the_series_that_are_asked_for(make):
    from coldsoak import ledger

    make.run(300, 400, series="other")
    asked = [Series(id="other", kind="clock", label="x")]
    made = ledger.attribute(make.trace(), make.launch(), series=asked)
    assert [each.series for each in made] == ["other", "s", ""]


def test_a_launch_without_regions_or_records_has_a_ledger_of_the_whole():
    from coldsoak import ledger
    from coldsoak.model.result import Launch

    launch = Launch(index=0, round=1, arm="a", kind="traced", wall_ns=5)
    (whole,) = ledger.attribute(Trace(launch=0, arm="a"), launch)
    assert whole.lines[-1].cause.value == "unattributed"
    assert (whole.total_ns, whole.lines[-1].ns) == (5, 5)


def test_evidence_names_the_largest_items_and_counts_calls(make):
    for i in range(12):
        make.span("import", f"package.m{i}", 5 * i, 5 * i + 1 + i / 10)
    imports = line(make.ledgers()[0], "import_python").evidence
    assert imports.count == 12
    assert imports.sources == ("import",)
    assert [item.label for item in imports.items] == [f"package.m{i}" for i in range(11, 3, -1)]
    assert not imports.sampled


def test_sampled_time_says_so_and_names_library_and_function(make):
    make.sampled(0, 10, "libcublas.so.13:cublasCreate_v2")
    found = line(make.ledgers()[0], "library_handle").evidence
    assert (found.sampled, found.sources, found.count) == (True, ("samples",), 10)
    assert found.items[0].label == "libcublas.so.13: cublasCreate_v2"


def test_a_call_and_its_copy_count_their_bytes_once(make):
    make.span("cuda.driver", "cuMemcpyDtoH_v2", 0, 30, link=5)
    make.op("DtoH", "copy", 10, 20, moved=4096, link=5)
    assert line(make.ledgers()[0], "device_to_host").evidence.bytes == 4096


def test_a_large_allocation_is_a_pool(make):
    make.span("cuda.driver", "cuMemAlloc_v2", 0, 10).event("alloc", 10, 30 << 30)
    make.span("cuda.driver", "cuMemAlloc_v2", 20, 30).event("alloc", 29, 1 << 20)
    card = {"cuda.device.0": json.dumps({"memory": 100 << 30})}
    assert make.causes(info=card) == {"pool_reserve": 10, "device_alloc": 10, "unattributed": 80}
    larger = {"cuda.device.0": json.dumps({"memory": 200 << 30})}
    assert make.causes(info=larger) == {"device_alloc": 20, "unattributed": 80}
    assert make.causes() == {"pool_reserve": 10, "device_alloc": 10, "unattributed": 80}
    assert line(make.ledgers()[0], "pool_reserve").evidence.bytes == 30 << 30


def test_the_first_long_bookkeeping_call_made_the_context(make):
    make.span("cuda.runtime", "cudaFree_v3020", 0, 40).span(
        "cuda.runtime", "cudaFree_v3020", 50, 70
    )
    assert make.causes() == {"context_create": 40, "device_alloc": 20, "unattributed": 40}


def test_a_context_that_was_seen_to_be_made_is_not_guessed(make):
    make.span("cuda.driver", "cuDevicePrimaryCtxRetain", 0, 20)
    make.span("cuda.runtime", "cudaFree_v3020", 50, 70)
    assert make.causes() == {"context_create": 20, "device_alloc": 20, "unattributed": 60}


def test_allocations_of_processes_that_overlap_are_told_apart(make):
    """Each event belongs to a call of its own process, whoever else calls meanwhile."""
    make.span("cuda.driver", "cuMemAlloc_v2", 0, 50).event("alloc", 50, 30 << 30)
    make.tracks.append((101, 101))
    row = make.spans[0]
    make.spans.append((10 * MS, 60 * MS, len(make.tracks) - 1, *row[3:]))
    assert make.causes() == {"pool_reserve": 50, "unattributed": 50}


def test_a_launch_that_loads_its_kernel_is_not_a_launch(make):
    make.span("cuda.runtime", "cudaLaunchKernel_v7000", 0, 20, link=1)
    make.span("cuda.overhead", "LAZY_FUNCTION_LOADING", 5, 15)
    make.span("cuda.runtime", "cudaLaunchKernel_v7000", 20, 25, link=2)
    assert make.causes() == {"lazy_kernel_load": 20, "kernel_launch": 5, "unattributed": 75}


def test_a_trace_that_was_saved_and_loaded_gives_the_same_ledgers(make, tmp_path):
    from coldsoak import ledger
    from coldsoak.launch.trace import load_trace, save

    make.span("import", "torch", 0, 60).off(10, 20).sampled(30, 40, "ld-linux-x86-64.so.2:dl_main")
    make.op("kernel", "k", 70, 80).span("cuda.runtime", "cudaDeviceSynchronize", 65, 85)
    file = tmp_path / "000.trace.gz"
    save(make.trace(), file)
    again = ledger.attribute(load_trace(file), make.launch())
    assert again == make.ledgers()
    assert msgspec.json.decode(msgspec.json.encode(again), type=tuple[type(again[0]), ...]) == again


def test_waiting_for_the_disk_tells_how_much_was_read(make):
    make.span("wait", "disk", 10, 20).event("read_bytes", 50, 4096).event("read_bytes", 150, 1)
    assert line(make.ledgers()[0], "page_in").evidence.bytes == 4096
