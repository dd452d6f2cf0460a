"""The law of sizes, for the shapes of the second question: N³ on top of a constant."""

import pytest

from coldsoak.findings.scaling import laws
from coldsoak.findings.view import View
from coldsoak.model.result import Arm, Case

SIZES = (50, 100, 500, 1000, 10_000, 15_000)


def law_of(make, overhead_ms):
    maker = make()
    for order, size in enumerate(SIZES):
        maker.region(f"s{size}", order=order, shape=f"({size}, {size})")
    for _ in range(3):
        runs = {f"s{size}": [1 + overhead_ms(size), 1, 1] for size in SIZES}
        maker.launch(**{**runs, "s50": [2700, 1, 1]})
    (law,) = laws(View(maker.result()))
    return law


def test_a_search_grows_with_the_work(make):
    law = law_of(make, lambda n: 60 + 26_700 * (n / 10_000) ** 3)
    assert "N³" in law.words
    constant, _, arithmetic = law.scaling.parts(15_000)
    assert constant == pytest.approx(0.06, rel=0.1)
    assert arithmetic == pytest.approx(90.1, rel=0.02)


def test_a_constant_cost_does_not_grow(make):
    assert law_of(make, lambda n: 60).words.startswith("hardly grows")


def test_data_grows_with_its_bytes(make):
    assert "N²" in law_of(make, lambda n: 1 + 2000 * (n / 10_000) ** 2).words


def test_two_sizes_make_no_law(make):
    maker = make()
    for order, size in enumerate((50, 100)):
        maker.region(f"s{size}", order=order, shape=f"({size}, {size})")
    maker.launch(s50=[9, 1, 1], s100=[9, 1, 1])
    assert list(laws(View(maker.result()))) == []


def test_arms_of_a_bench(make):
    arms, launches = [], []
    for size, cost in ((100, 50), (200, 52), (400, 51)):
        case = Case(workload="matmul", framework="jax", device="cpu", shape={"size": size})
        arms.append(Arm(name=f"n{size}", argv=("x",), case=case))
        maker = make()
        for _ in range(2):
            maker.launch(r=[cost, 1, 1])
        launches += [msg(launch, f"n{size}") for launch in maker.launches]
    maker.launches = launches
    (law,) = laws(View(maker.result(arms=tuple(arms), kind="bench")))
    assert law.name == "jax on cpu"
    assert law.words.startswith("hardly grows")


def msg(launch, arm):
    from msgspec.structs import replace

    return replace(launch, arm=arm)
