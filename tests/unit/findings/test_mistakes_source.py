"""Findings that read the user's source: what they see, and what they must not take for it."""

import textwrap

import pytest

from coldsoak.findings.products import products_of
from coldsoak.findings.source import Source
from coldsoak.model.causes import Cause
from coldsoak.model.ledger import Ledger, Line
from coldsoak.model.result import Series, Site


def lines_of(text, start="start =", end="elapsed ="):
    """Return the 1-based lines of the two clock readings."""
    rows = text.splitlines()
    first = next(i for i, row in enumerate(rows, 1) if start in row)
    return first, next(i for i, row in enumerate(rows, 1) if end in row and i > first)


def victim(make, text, *, runs=(200, *[1.0] * 9), function="<module>", **fields):
    text = textwrap.dedent(text).lstrip()
    maker = make(source=text, **fields).region("r", lines_of(text), function)
    for _ in range(3):
        maker.launch(r=runs)
    return maker


AVERAGED = """
import time, statistics
times = []
for run in range(10):
    start = time.perf_counter()
    work()
    elapsed = time.perf_counter() - start
    times.append(elapsed)
print({mean})
"""


@pytest.mark.parametrize(
    ("mean", "corrected"),
    [
        ("statistics.mean(times)", "print(statistics.mean(times[1:]))"),
        ("np.mean(times)", "print(np.mean(times[1:]))"),
        ("sum(times) / len(times)", "print(sum(times[1:]) / len(times[1:]))"),
    ],
)
def test_a_mean_with_the_first_run(make, mean, corrected):
    (found,) = victim(make, AVERAGED.format(mean=mean)).find("first-run-in-average")
    assert found.advice == (corrected,)
    assert found.line == 8
    assert "20.9 ms; over runs 1 to 9 it is 1.00 ms" in found.text


def test_a_mean_under_a_condition_is_likely(make):
    text = AVERAGED.format(mean="np.mean(times)").replace("print(", "if verbose: print(")
    (found,) = victim(make, text).find("first-run-in-average")
    assert found.confidence == "likely"
    assert "under a condition" in found.settle


@pytest.mark.parametrize(
    "mean",
    [
        "statistics.mean(times[1:])",
        "statistics.median(times)",
        "min(times)",
        "statistics.mean(others)",
        "sum(times)",
    ],
)
def test_other_uses_of_the_times(make, mean):
    assert victim(make, AVERAGED.format(mean=mean)).find("first-run-in-average") == []


def test_a_first_run_that_was_taken_out(make):
    text = AVERAGED.format(mean="statistics.mean(times)").replace("print", "times.pop(0)\nprint")
    assert victim(make, text).find("first-run-in-average") == []


def test_times_that_are_kept_under_a_condition(make):
    text = AVERAGED.format(mean="statistics.mean(times)")
    text = text.replace("    times.append", "    if run > 2: times.append")
    assert victim(make, text).find("first-run-in-average") == []


def test_a_first_run_that_is_as_quick_as_the_others(make):
    text = AVERAGED.format(mean="statistics.mean(times)")
    assert victim(make, text, runs=[1.0] * 10).find("first-run-in-average") == []


def test_a_mean_of_what_a_function_returns(make):
    text = """
    import time, statistics
    def timed():
        start = time.time()
        work()
        elapsed = time.time() - start
        return elapsed
    results = [timed() for _ in range(10)]
    print(statistics.fmean(results))
    """
    (found,) = victim(make, text, function="timed").find("first-run-in-average")
    assert found.evidence == ("line 8: print(statistics.fmean(results))",)


SESSION = """
import time
for device in ["/device:CPU:0", "/device:GPU:0"]:
    x = make(device)
    start = time.time()
    {work}
    elapsed = time.time() - start
"""


def compared(make, work, devices=("/device:CPU:0", "/device:GPU:0")):
    text = SESSION.format(work=work).lstrip()
    maker = make(source=text)
    for order, device in enumerate(devices):
        maker.region(f"r{order}", lines_of(text), order=order, device=repr(device))
    for _ in range(2):
        maker.launch(**{f"r{order}": [9, 1] for order in range(len(devices))})
    return maker.find("unequal-work")


def test_a_session_inside_the_region(make):
    (found,) = compared(make, "with tf.Session() as s: s.run(y)")
    assert "makes a session" in found.text
    assert found.confidence == "likely"


def test_inputs_made_inside_the_region(make):
    (found,) = compared(make, "y = tf.random_uniform([9, 9]) @ x")
    assert "makes its inputs" in found.text


def test_an_equal_comparison(make):
    assert compared(make, "y = x @ x") == []


def test_one_device_is_no_comparison(make):
    assert compared(make, "with tf.Session() as s: s.run(y)", devices=("/device:GPU:0",)) == []


def test_another_compiler_on_one_device(make):
    (found,) = compared(make, "s.run(y)", devices=("/device:CPU:0", "/device:XLA_GPU:0"))
    assert "differ in their compiler" in found.text


def products(text, **case):
    text = textwrap.dedent(text).lstrip()
    first, last = lines_of(text)
    series = Series(
        id="r",
        kind="clock",
        label="r",
        start=Site(file="demo.py", line=first),
        end=Site(file="demo.py", line=last),
        case=case,
    )
    found = products_of(Source("demo.py", text), series)
    return [(p.count, p.m, p.k, p.n) for p in found]


QUESTION = """
import time, tensorflow as tf
def time_matmul(run, x):
    start = time.time()
    for loop in range(10):
        tf.matmul(x, x)
    elapsed = time.time() - start
with tf.device("GPU:0"):
    x = tf.random.uniform([1000, 1000])
    for run in range(10):
        time_matmul(run, x)
"""


def test_the_products_of_the_question():
    assert products(QUESTION) == [(10, 1000, 1000, 1000)]


def test_products_in_called_functions_and_constants():
    text = """
    import torch
    SIZE = 500
    def many(y):
        for _ in range(3):
            z = y @ y
        return z
    x = torch.rand(SIZE, SIZE, device="cuda")
    start = clock()
    many(x)
    elapsed = clock() - start
    """
    assert products(text) == [(3, 500, 500, 500)]


def test_sizes_that_the_case_names():
    text = """
    x = np.ones(shape)
    start = clock()
    np.dot(x, x.T)
    elapsed = clock() - start
    """
    assert products(text, shape="(50, 60)") == [(1, 50, 60, 50)]


@pytest.mark.parametrize(
    "inside",
    [
        "for _ in items: x @ x",
        "while go(): x @ x",
        "if flag: x @ x",
        "unknown @ x",
        "[x @ x for _ in range(3) if flag]",
    ],
)
def test_what_the_source_does_not_say_is_unknown(inside):
    text = (
        f"import numpy as np\nx = np.ones((9, 9))\nstart = c()\n{inside}\nelapsed = c() - start\n"
    )
    assert products(text) == []


def test_a_compiler_may_take_equal_products_together():
    text = """
    import jax
    @jax.jit
    def f(a):
        return a @ a + a @ a
    x = jax.numpy.ones((9, 9))
    start = clock()
    f(x)
    elapsed = clock() - start
    """
    assert products(text) == []
    assert products(text.replace(" + a @ a", "")) == [(1, 9, 9, 9)]


def test_a_region_that_begins_inside_a_block():
    text = """
    x = np.ones((9, 9))
    with device():
        x @ x
        start = clock()
        y = x @ x
    elapsed = clock() - start
    """
    assert products(text) == [(1, 9, 9, 9)]


LOOPED = """
import time
start = time.time()
for _ in range(10):
    work()
elapsed = time.time() - start
print({told})
"""


def looped(make, told, cause="compile", runs=(500.0,)):
    text = LOOPED.format(told=told).lstrip()
    maker = make(source=text).region("r", lines_of(text))
    maker.launch(r=runs).launch("traced", r=runs)
    lines = (
        Line(cause=Cause(cause), ns=400_000_000),
        Line(cause=Cause.HOST_COMPUTE, ns=100_000_000),
    )
    ledger = Ledger(
        scope="region", arm="command", launch=2, series="r", start_ns=0, end_ns=500_000_000,
        total_ns=500_000_000, lines=lines,
    )  # fmt: skip
    return maker.find("first-run-in-average", ledgers=(ledger,))


def test_a_loop_with_work_that_is_done_once(make):
    (found,) = looped(make, "elapsed / 10")
    assert "80 % of its 500 ms is done once" in found.text
    assert found.confidence == "likely"


def test_loops_without_it(make):
    assert looped(make, "elapsed / 10", cause="host_compute") == []
    assert looped(make, "elapsed") == []
