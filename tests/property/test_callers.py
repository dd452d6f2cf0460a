"""The quick key of a reading is the key that looking at every frame would have given.

Programs are trees of calls from several places, loops, recursion, generators and closures, in which
the values that name a case change in every way: rebound, mutated in place, replaced by an equal or
by an almost equal one, from within and from a function that is called.
"""

import contextlib
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEADER = """
import time
class Thing: pass
thing = Thing()
items, level, shape, budget = [1, 2], 0, (7, 7), iter(range(500))
def read():
    if next(budget, None) is None: raise SystemExit
    t = time.perf_counter()
    t = time.perf_counter() - t
def nested(case):
    def inner(): return read()
    return inner()
def climbing(depth, case):
    if depth: return climbing(depth - 1, case)
    for i in range(2): read()
def looping(act, *values):
    for i in range(7):
        read()
        act(values[i // 3 % len(values)])
def by_closure(case, *values):
    def change(value):
        nonlocal case
        case = value
    for i in range(2): change(values[i % len(values)]); read()
    looping(change, *values)
def sharing(case):
    def look(*values):
        for i in range(7):
            read()
            change(values[i // 3 % len(values)])
        return case
    def change(value):
        nonlocal case
        case = value
    return look
def by_global(value):
    global level
    level = value
def by_list(some, *values):
    for i in range(4):
        read()
        some.append(i // 2)
        del some[:-1]
    looping(some.append, *values)
def stepping(case):
    while True:
        read()
        yield case
def resume(steps, case): return [read(), next(steps), read()]
def guarded(case):
    try: read()
    finally: read()
def keyed(case, *, flag=False, **more):
    for i in range(2): read()
def rebinding(case, other=1, third=2):
    for i in range(2):
        read()
        case = other
        for third in (1, 'x'): read()
    other = [read() for case in (1, 'y')]
    del third
    read()
def climber(depth): return climbing(1, 'key') or 0
"""
ALIKE = [
    ("'cpu'", "'gpu'", "'x' * 70", "'y' * 70", "b'bytes'"),
    ("(5, 5)", "tuple([5, 5])", "(5.0, 5.0)", "(6, 6)", "[5, 5]", "shape"),
    ("1", "True", "1.0", "(1, True)", "(True, 1)"),
    ("0", "0.0", "-0.0", "False", "None", "float('nan')"),
    ("len", "'len'", "read", "Thing", "lambda: 0", "thing", "Thing()"),
    ("items", "[1, 2]", "[]", "([1], 2)", "list(range(9))", "level", "7 * 1000"),
]
CALLS = [
    "read()", "nested({a})", "climbing({n}, {a})", "looping(str, {a}, {b})",
    "by_closure({a}, {b}, {a})", "sharing({a})({b}, {a})", "by_closure({a}, {b})", "looping(by_global, {a}, {b})",
    "by_global({a}); read()", "by_list([1, 2], {a})", "by_list(items, {a}, {b})", "guarded({a})",
    "keyed({a}, flag={b})", "keyed(case={a})", "rebinding({a}, {b})", "(lambda case: read())({a})",
    "[read() for shape in ({a}, {b})]", "items.append({n}); del items[3:]", "shape = {a}",
    "thing.shape = {a}", "list(map(nested, ({a}, {b})))", "sorted(({n}, 2), key=climber)",
    "walk = stepping({a}); resume(walk, {b}); resume(walk, {a}); next(walk)",
]  # fmt: skip


@st.composite
def programs(draw):
    """Return the source of a program whose functions call those after them, many times."""
    count = draw(st.integers(1, 4))
    parts = [HEADER]
    for number in reversed(range(count)):
        body = "\n".join(draw(block(number, count, 1)))
        parts.append(f"def f{number}(device, sizes=(3, 3)):\n    shape, level = sizes, 0\n{body}")
    parts.append("\n".join(draw(block(-1, count, 0))))
    return "\n".join(parts) + "\n"


@st.composite
def block(draw, number, count, depth):
    """Return the lines of a block of the function with a number."""
    lines = []
    indent = "    " * depth
    for _ in range(draw(st.integers(1, 3))):
        alike = draw(st.sampled_from(ALIKE))
        a, b = draw(st.sampled_from(alike)), draw(st.sampled_from(alike))
        kind = draw(st.integers(0, 7))
        if kind == 0 and depth < 3:
            target = draw(st.sampled_from(["device", "shape", "level"]))
            lines.append(f"{indent}for {target} in ({a}, {b}, {a}):")
            lines += draw(block(number, count, depth + 1))
        elif kind == 1 and depth < 3:
            lines.append(f"{indent}for i in range({draw(st.integers(1, 4))}):")
            lines += draw(block(number, count, depth + 1))
        elif kind <= 4 and number + 1 < count:
            callee = draw(st.integers(number + 1, count - 1))
            lines.append(f"{indent}f{callee}({a}, sizes={b})")
        else:
            call = draw(st.sampled_from(CALLS)).format(a=a, b=b, n=draw(st.integers(0, 3)))
            lines.append(indent + call)
    return lines


def run(agent, source, key_of):
    """Run a program with one way to get keys; return the series of its regions in order."""
    agent.readings.install()
    agent.readings.after_fork()
    agent.records.clear()
    agent.readings.key_of = key_of
    agent.keys._codes.clear()
    agent.keys._places.clear()
    code = agent.rewrite.compile_user(source.encode(), "/generated/callers.py", "callers")

    def body():
        with contextlib.suppress(SystemExit):
            exec(code, {"__name__": "generated"})

    thread = threading.Thread(target=body)  # with no frame of pytest's below
    thread.start()
    thread.join()
    agent.readings.flush()
    assert not [record for record in agent.records if record[0] == "note"]
    keys = {record[1]: (record[2], record[3]) for record in agent.records if record[0] == "key"}
    return [keys[record[3]] for record in agent.records if record[0] == "region"]


@pytest.fixture
def patient(agent, monkeypatch):
    """Names are looked at however often they held nothing: the quick way looks less often."""
    monkeypatch.setattr(agent.keys, "_IDLE", 1 << 30)
    return agent


@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(source=programs())
def test_the_quick_keys_are_the_slow_ones(patient, source):
    agent = patient
    slow = run(agent, source, agent.keys.key_of)
    assert run(agent, source, agent.callers.key_of) == slow
