"""Traces recorded on an H200, one for each of four frameworks, without a host sampler."""

import gzip
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from coldsoak import ledger
from coldsoak.model.result import Launch
from coldsoak.model.trace import Spans, Trace

DATA = Path(__file__).parents[2] / "data" / "ledger"
MS = 1e6


def recorded(name, **fields):
    with gzip.open(DATA / f"{name}.trace.gz") as file:
        trace = msgspec.msgpack.decode(file.read(), type=Trace)
    launch = msgspec.json.decode((DATA / f"{name}.launch.json").read_bytes(), type=Launch)
    return ledger.attribute(replace(trace, **fields), launch)


def of(ledgers, series, scope="region"):
    return next(each for each in ledgers if (each.scope, each.series) == (scope, series))


def ms(found, cause):
    return sum(line.ns for line in found.lines if line.cause.value == cause) / MS


def items(found, cause):
    line = next(line for line in found.lines if line.cause.value == cause)
    return {item.label: item.ns / MS for item in line.evidence.items}


@pytest.mark.parametrize("name", ["torch", "tensorflow", "cupy", "jax"])
def test_every_ledger_adds_up(name):
    for each in recorded(name):
        assert sum(line.ns for line in each.lines) + each.measurement_ns == each.total_ns
        assert each.lines[-1].cause.value == "unattributed"


def test_torch_loads_cublas_in_its_first_loop():
    first = of(recorded("torch"), "loop")
    assert items(first, "module_load") == {
        "cuLibraryLoadData": pytest.approx(25, abs=0.5),
        "RUNTIME_TRIGGERED_MODULE_LOADING": pytest.approx(38.9, abs=0.5),
    }
    assert 45 < ms(first, "library_handle") < 60
    assert ms(first, "host_to_device") == 0
    assert ms(first, "unattributed") < 0.07 * first.total_ns / MS


def test_torch_makes_its_context_inside_a_harmless_query():
    whole = of(recorded("torch"), "", "launch")
    assert items(whole, "context_create")["cudaDeviceGetStreamPriorityRange"] > 120


def test_a_loop_that_does_not_wait_has_no_device_work_and_one_that_waits_has():
    torch = recorded("torch")
    assert ms(of(torch, "loop"), "device_compute") == 0
    waiting = of(torch, "synchronised")
    assert ms(waiting, "device_compute") > 0.5 * waiting.total_ns / MS


def test_tensorflow_copies_no_matrix_to_the_card_in_its_first_loop():
    first = of(recorded("tensorflow"), "loop gpu")
    assert ms(first, "host_to_device") == 0
    assert ms(first, "module_load") + ms(first, "library_handle") > 0.8 * first.total_ns / MS


def test_tensorflow_reserves_the_card():
    result = of(recorded("tensorflow"), "loop gpu", "first result")
    line = next(line for line in result.lines if line.cause.value == "pool_reserve")
    assert line.evidence.bytes > 140e9


def test_jax_searches_for_a_time_that_grows_with_the_cube_and_compiles_for_one_that_does_not():
    jax = recorded("jax")
    search = {n: ms(of(jax, f"N={n}"), "algorithm_search") for n in (1000, 2000, 10000, 15000)}
    build = [ms(of(jax, f"N={n}"), "compile") for n in (2000, 10000, 15000)]
    assert search[1000] < search[2000] < 30
    assert search[15000] / search[10000] == pytest.approx(1.5**3, rel=0.1)
    assert max(build) < 1.05 * min(build)


def test_the_candidates_are_the_evidence_of_a_search():
    line = next(
        line
        for line in of(recorded("jax"), "N=15000").lines
        if line.cause.value == "algorithm_search"
    )
    assert line.evidence.count > 100
    assert line.evidence.items[0].label.startswith("gemm_fusion_dot")
    assert line.evidence.items[0].count >= 20


def test_a_search_is_seen_without_any_span_of_the_compiler_or_the_driver():
    blind = of(recorded("jax", spans=Spans()), "N=15000")
    seen = of(recorded("jax"), "N=15000")
    assert blind.total_ns == seen.total_ns
    assert ms(blind, "algorithm_search") > 0.95 * ms(seen, "algorithm_search")
    assert ms(blind, "compile") == 0


def test_fixtures_are_small_and_tell_nothing_about_the_machine_they_are_from():
    for file in DATA.iterdir():
        assert file.stat().st_size < 300_000
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for word in (b"/home/", b"/root/", b"/work/", b"/tmp/", b"/usr/"):
            assert word not in content
