"""Traces of five programs on an H200, recorded with all sources; ``scripts/make_fixture.py`` made them.

PyTorch 2.11 (eager, compiled, Triton), CuPy 14.2 and JAX 0.11.2, driver 580, CUDA 13, 2026-11-30.
"""

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from coldsoak import ledger
from coldsoak.model.result import Launch, Series
from coldsoak.model.trace import DeviceOps, OffCpu, Samples, Spans, Trace, pack, unpack

DATA = Path(__file__).parents[2] / "data"
NAMES = ("torch", "cupy", "jax", "compile", "triton")
MS = 1e6


class Recorded:
    """One program's trace and what is made of it; times in ms."""

    def __init__(self, name):
        with gzip.open(DATA / f"h200_{name}.trace.gz") as file:
            self.trace = msgspec.msgpack.decode(file.read(), type=Trace)
        about = json.loads((DATA / f"h200_{name}.json").read_text())
        self.launch = msgspec.convert(about["launch"], Launch)
        self.series = msgspec.convert(about["series"], list[Series])
        self.whole = self.attribute(self.trace)
        self.first = self.whole[0]
        self.result = next(each for each in self.whole if each.scope == "first result")

    def attribute(self, trace):
        return ledger.attribute(trace, self.launch, series=self.series)


@pytest.fixture(scope="module")
def recorded():
    return {name: Recorded(name) for name in NAMES}


def line(found, cause):
    return next((each for each in found.lines if each.cause.value == cause), None)


def ms(found, cause):
    mine = line(found, cause)
    return mine.ns / MS if mine else 0.0


def item(found, cause, label):
    return sum(i.ns for i in line(found, cause).evidence.items if i.label.startswith(label)) / MS


def without(trace, source):
    """The trace as it would be had ``source`` been off."""
    if source == "perf":
        bare = replace(trace, samples=Samples(), off_cpu=OffCpu())
        return spans_but(bare, lambda name: name == "wait")
    if source == "cupti":
        return spans_but(replace(trace, device=DeviceOps()), lambda name: name.startswith("cuda."))
    return spans_but(trace, lambda name: name == source)


def spans_but(trace, dropped):
    table = trace.spans
    sources = [trace.strings[i] for i in unpack(table.source)]
    keep = [i for i, source in enumerate(sources) if not dropped(source)]
    names = table.__struct_fields__
    chosen = {name: pack(unpack(getattr(table, name))[i] for i in keep) for name in names}
    return replace(trace, spans=Spans(**chosen))


def add_up(ledgers):
    return all(sum(li.ns for li in x.lines) + x.measurement_ns == x.total_ns for x in ledgers)


@pytest.mark.parametrize("name", NAMES)
def test_every_ledger_adds_up(recorded, name):
    assert add_up(recorded[name].whole)
    assert {"region", "first result", "launch"} == {each.scope for each in recorded[name].whole}


@pytest.mark.parametrize("name", NAMES)
def test_95_percent_of_the_first_region_and_of_the_first_result_have_a_name(recorded, name):
    for found in (recorded[name].first, recorded[name].result):
        shown = (found.total_ns - found.measurement_ns) / MS
        assert ms(found, "unattributed") < 0.05 * shown
        assert ms(found, "framework_host") < 0.15 * shown


@pytest.mark.parametrize("name", NAMES)
def test_a_stay_in_the_driver_before_the_first_record_is_the_start_of_the_driver(recorded, name):
    assert 90 < item(recorded[name].result, "driver_init", "cuInit") < 200


@pytest.mark.parametrize("name", NAMES)
def test_the_context_takes_about_110_ms_wherever_it_hides(recorded, name):
    assert 100 < ms(recorded[name].result, "context_create") < 130


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_a_first_product_loads_modules_and_asks_cublaslt_for_plans(recorded, name):
    first = recorded[name].first
    assert 40 < ms(first, "module_load") < 50
    assert 36 < item(first, "plan_build", "libcublasLt") < 44
    assert ms(first, "module_load") + ms(first, "plan_build") > 0.85 * first.total_ns / MS


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_no_matrix_moves_to_the_card_in_a_first_product(recorded, name):
    moved = line(recorded[name].first, "host_to_device")
    assert moved is None or (moved.ns < 0.1 * MS and moved.evidence.bytes < 4096)


def test_jax_pays_for_the_pool_by_touching_host_memory(recorded):
    # three quarters of the card are cut in 256 bytes each with a word on the host: 3.5 GB of it
    pool = line(recorded["jax"].result, "pool_reserve")
    assert 1450 * MS < pool.ns < 1600 * MS
    table = item(recorded["jax"].result, "pool_reserve", "xla_cuda_plugin.so: tsl::BFCAllocator")
    assert table > 0.99 * pool.ns / MS
    assert pool.evidence.sampled
    assert ms(recorded["jax"].result, "page_fault") < 60


def test_jax_waits_for_ptxas_and_searches_for_an_algorithm(recorded):
    first = recorded["jax"].first
    children = line(first, "child_process").evidence
    assert item(first, "child_process", "ptxas") > 0.9 * ms(first, "child_process") > 500
    assert children.items[0].count > 10
    assert 15 < ms(first, "algorithm_search") < 25
    assert line(first, "algorithm_search").evidence.count > 300


def test_torch_compile_waits_for_its_own_compiler_and_its_caches(recorded):
    first = recorded["compile"].first
    assert item(first, "compile", "backend_compile") > 350
    assert item(first, "cache_lookup", "inductor_codecache_torch_key") > 80
    assert ms(first, "trace") > 50
    assert 48 < ms(first, "plan_build") < 56
    assert {each.cause.value for each in first.lines} >= {"import_python", "child_process"}


def test_a_triton_kernel_is_compiled_for_its_first_run(recorded):
    first = recorded["triton"].first
    assert item(first, "compile", "compile") > 0.85 * first.total_ns / MS


@pytest.mark.parametrize(
    ("name", "source"),
    [
        *((name, source) for name in NAMES for source in ("perf", "cupti")),
        ("jax", "jax"),
        ("compile", "torch"),
        ("triton", "triton"),
        ("torch", "gc"),
        ("torch", "import"),
    ],
)
def test_losing_a_source_changes_the_detail_but_never_the_sum(recorded, name, source):
    seen = recorded[name]
    blind = seen.attribute(without(seen.trace, source))
    assert [x.total_ns for x in blind] == [x.total_ns for x in seen.whole]
    assert add_up(blind)


@pytest.mark.parametrize(
    ("name", "source", "cause"),
    [
        ("torch", "cupti", "module_load"),
        ("torch", "perf", "plan_build"),
        ("jax", "perf", "pool_reserve"),
        ("jax", "cupti", "algorithm_search"),
        ("triton", "triton", "compile"),
        ("compile", "torch", "cache_lookup"),
    ],
)
def test_what_a_lost_source_knew_goes_to_other_lines(recorded, name, source, cause):
    seen = recorded[name]
    blind = seen.attribute(without(seen.trace, source))
    before = sum(ms(each, cause) for each in seen.whole)
    after = sum(ms(each, cause) for each in blind)
    assert after < 0.6 * before


def test_fixtures_are_small_and_tell_nothing_about_the_machine_they_are_from():
    files = [*DATA.glob("h200_*.trace.gz"), *DATA.glob("h200_*.json")]
    assert len(files) == 2 * len(NAMES)
    assert sum(file.stat().st_size for file in files) < 1_500_000
    for file in files:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for word in (b"/home/", b"/root/", b"/work/", b"/tmp/", b"/usr/", b"/opt/", b".scratch"):
            assert word not in content
