"""What is said of launches that were recorded on an H200 (torch, JAX, CuPy, torch.compile)."""

import gzip
from pathlib import Path

import msgspec
import pytest

from coldsoak.findings import find
from coldsoak.findings.hypotheses import judge_hypotheses
from coldsoak.findings.view import View
from coldsoak.model.result import Result

DATA = Path(__file__).parents[2] / "data" / "findings"
MEASURING = {"async-timing", "impossible-rate", "queue-filling", "silent-placement", "gpu-idle"}


def recorded(name):
    packed = (DATA / f"h200_{name}.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=Result)


def said(name):
    return [f for f in find(recorded(name)) if f.code in MEASURING]


def judged(name):
    view = View(recorded(name))
    summary = view.result.summaries[0]
    return judge_hypotheses(view, summary.arm, "region", view.lead(summary).series)


def test_the_unsynchronised_loop_of_torch():
    found = {finding.code: finding for finding in said("torch")}
    assert set(found) == {"async-timing", "impossible-rate"}
    assert {f.line for f in found.values()} == {33}
    assert "the work takes 543 µs" in found["async-timing"].text
    assert "108 TFLOP/s" in found["impossible-rate"].text
    assert {f.confidence for f in found.values()} == {"measured"}


def test_the_host_of_jax_is_slower_than_the_card():
    """Ten dispatches take longer than the ten products: nothing is queued when the clock stops."""
    (found,) = said("jax")
    assert found.code == "impossible-rate"
    assert "a CPU with 16 cores" in found.text


@pytest.mark.parametrize("name", ["cupy", "compile"])
def test_loops_that_wait(name):
    assert said(name) == []


@pytest.mark.parametrize("name", ["torch", "jax", "cupy", "compile"])
def test_data_movement_is_refuted(name):
    assert judged(name).named("data movement").verdict == "refuted"


@pytest.mark.parametrize(
    ("name", "main"),
    [
        ("torch", "code loading"),
        ("cupy", "code loading"),
        ("jax", "compiling"),
        ("compile", "compiling"),
    ],
)
def test_the_main_explanation(name, main):
    assert judged(name).main.name == main
