"""What the quick way to a series key must not miss, and what it must not do to the program."""

import gc
import itertools
import threading

import pytest

READ = "import time\ndef read():\n    t = time.perf_counter()\n    return time.perf_counter() - t < 0\n"


def cases(listener):
    keys = listener.keys()
    return [keys[region[2]][1] for region in listener.of("region")]


@pytest.fixture(autouse=True)
def quick(listener, monkeypatch):
    """Take the quick way from the first reading on."""
    from coldsoak_agent import callers

    monkeypatch.setattr(listener.readings, "key_of", callers.key_of)


@pytest.fixture
def slow_calls(listener, monkeypatch):
    """Count how often every frame is looked at."""
    from coldsoak_agent import callers, keys

    calls = []
    original = keys.key_of

    def key_of(frame, head=()):
        calls.append(frame.f_code.co_name)
        return original(frame, head)

    monkeypatch.setattr(callers.keys, "key_of", key_of)
    return calls


@pytest.mark.parametrize(
    "values",
    [
        ("1", "True", "1.0", "'1'"),
        ("0", "False", "0.0", "-0.0", "''", "'x' * 70"),
        ("(1, 2)", "(True, 2)", "(1.0, 2)", "[1, 2]", "'(1, 2)'"),
        ("len", "'len'", "dict", "'dict'"),
        ("([1],)", "([2],)", "(1,)"),
    ],
)
def test_values_that_are_equal_or_look_alike_are_told_apart(values, listener):
    shown = [repr(eval(value)) for value in values]
    shown = ["len" if text == "<built-in function len>" else text for text in shown]
    shown = ["dict" if text == "<class 'dict'>" else text for text in shown]
    want = [{} if len(text) > 60 else {"case": text} for text in shown]
    orders = list(itertools.permutations(range(len(values)), 2))
    source = READ + "def bench(case): read(); read()\ndef go():\n"
    source += "".join(f"    bench({values[i]})\n" for pair in orders for i in pair)
    listener.run(source + "go()\n")
    assert cases(listener) == [want[i] for pair in orders for i in pair for _ in range(2)]


def test_numbers_that_are_no_numbers_are_one_case(listener, slow_calls):
    listener.run(
        READ
        + "def bench(case): read()\ndef go():\n    for _ in range(40): bench(float('nan'))\ngo()\n"
    )
    assert cases(listener) == [{"case": "nan"}] * 40
    assert len(slow_calls) == 1


def test_a_renamed_function_has_the_name_under_which_it_was_passed(listener):
    listener.run(
        READ + "def work(): pass\ndef bench(case):\n    read()\n    case.__qualname__ = 'play'\n"
        "    for _ in range(3): read()\nbench(work)\nbench(work)\n"
    )
    names = [case["case"] for case in cases(listener)]
    assert names[0] == "work"
    assert names[4:] == ["play"] * 4


def test_what_stays_is_not_looked_at_again(listener, slow_calls):
    listener.run(
        READ + "def bench(shape, device):\n"
        "    for _ in range(50):\n        t = time.time(); d = time.time() - t; read()\n"
        "def main():\n"
        "    for device in ('cpu', 'gpu'):\n"
        "        for _ in range(5): bench((5, 5), device)\nmain()\n"
    )
    assert len(cases(listener)) == 1000
    assert len(slow_calls) == 4
    assert [len(runs) for runs in listener.series().values()] == [250] * 4


def test_deep_stacks(listener, slow_calls):
    listener.run(
        READ + "def deep(depth, case):\n"
        "    if depth: return deep(depth - 1, case)\n    for _ in range(3): read()\n"
        "def go():\n    for case in ('a', 'b', 'a'): deep(400, case)\ngo()\n"
    )
    assert [case["case"] for case in cases(listener)] == ["'a'"] * 3 + ["'b'"] * 3 + ["'a'"] * 3


def test_stacks_that_are_always_new(listener):
    listener.run(
        READ
        + "def grow(depth):\n    read()\n    if depth:\n        grow(depth - 1)\n        grow(depth - 1)\n"
        "grow(9)\n"
    )
    assert len(cases(listener)) == 1023
    assert len(listener.series()) == 1023  # up to 16 frames each is a caller of its own


def test_the_tree_may_be_begun_anew_at_any_moment(listener, monkeypatch):
    from coldsoak_agent import callers

    monkeypatch.setattr(callers, "_NODES", 3)
    listener.run(
        READ + "def bench(case):\n    for _ in range(2): read()\n"
        "def go():\n    for case in ('a', 'b', 'a'): bench(case)\ngo()\n"
    )
    assert [case["case"] for case in cases(listener)] == ["'a'"] * 2 + ["'b'"] * 2 + ["'a'"] * 2


def test_a_fork_has_keys_of_its_own(listener):
    module = listener.run(
        READ + "def bench(case):\n    read()\n    yield\n    read()\n"
        "def twice(fork):\n    read(); fork(); read()\n"
    )
    listener.records.clear()

    def fork():
        listener.readings.flush()
        listener.records.clear()
        listener.readings.after_fork()

    module.twice(fork)
    listener.readings.flush()
    keys = listener.keys()
    assert [region[2] in keys for region in listener.of("region")] == [True]


def test_threads_have_their_own_stacks(listener):
    module = listener.run(
        READ + "def bench(case, wait):\n    for _ in range(50):\n        read(); wait()\n"
        "def by_a(wait): bench('a', wait)\ndef by_b(wait): bench('b', wait)\n"
    )
    barrier = threading.Barrier(2)
    threads = [
        threading.Thread(target=target, args=(barrier.wait,))
        for target in (module.by_a, module.by_b)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listener.readings.flush()
    keys = listener.keys()
    for region in listener.of("region"):
        stack, case = keys[region[2]]
        assert "by_" + case["case"].strip("'") in [frame[2] for frame in stack]
    assert [len(runs) for runs in listener.series().values()] == [50, 50]


def test_coroutines_that_others_resume(listener):
    listener.run(
        "import asyncio\n" + READ + "async def bench(case):\n"
        "    for _ in range(5):\n        read()\n        await asyncio.sleep(0)\n"
        "async def main():\n    await asyncio.gather(*(bench(case) for case in 'abc'))\n"
        "asyncio.run(main())\n"
    )
    seen = [case["case"] for case in cases(listener)]
    assert sorted(seen) == ["'a'"] * 5 + ["'b'"] * 5 + ["'c'"] * 5
    assert [len(runs) for runs in listener.series().values()] == [5, 5, 5]


def test_places_are_given_up_after_32_readings_of_them(listener):
    module = listener.run(
        READ + "def bench(model, late=None):\n    read()\n"
        "def other(model, late=None):\n    for _ in range(40): read()\n    read()\n"
    )
    for _ in range(31):
        module.bench(object())
    module.bench(object(), "x")
    module.bench(object())
    module.bench(object(), "x")
    module.other(object(), "x")
    listener.readings.flush()
    found = [case.get("late") for case in cases(listener)]
    assert found == [None] * 31 + ["'x'", None, None] + ["'x'"] * 41


def test_a_program_with_few_readings_does_without(listener, slow_calls, monkeypatch):
    monkeypatch.setattr(listener.readings, "_plain", 64)
    monkeypatch.setattr(listener.readings, "key_of", listener.readings._key_of)
    module = listener.run(READ + "def bench(case):\n    for _ in range(50): read()\nbench('a')\n")
    assert len(slow_calls) == 50
    module.bench("a")
    module.bench("b")
    listener.readings.flush()
    assert len(slow_calls) < 70
    assert [case["case"] for case in cases(listener)] == ["'a'"] * 100 + ["'b'"] * 50


# What the program can see


def test_line_numbers_stay_right(listener):
    module = listener.run(
        "import sys, traceback\n" + READ + "def outer(n):\n"
        "    read()\n"
        "    lines = [sys._getframe().f_lineno]\n"
        "    read()\n"
        "    try:\n        inner(n)\n"
        "    except KeyError as error:\n"
        "        lines += [item.lineno for item in traceback.extract_tb(error.__traceback__)]\n"
        "    lines.append(sys._getframe().f_lineno)\n"
        "    return lines\n"
        "def inner(n):\n    read()\n    {}[n]\nlines = outer(1)\n"
    )
    assert module.lines == [8, 11, 18, 14]


def test_a_trace_function_that_comes_later_sees_what_it_would(listener):
    source = (
        "import sys\n" + READ + "events = []\n"
        "def trace(frame, event, arg):\n"
        "    if frame.f_code.co_filename == __file__:\n"
        "        events.append((event, frame.f_code.co_name, frame.f_lineno))\n"
        "        return trace\n"
        "def late(case):\n"
        "    for i in range(3): read()\n"
        "    sys.settrace(trace)\n    x = 1\n    for i in range(2): read()\n"
        "    sys.settrace(None)\n    read()\n    return x\n"
        "before = sys.gettrace()\nlate('a')\nsys.settrace(before)\n"
    )
    hooked = listener.run(source).events
    path = str(listener.folder / "program.py")
    plain = {"__file__": path, "__name__": "plain"}
    exec(compile(source, path, "exec", dont_inherit=True), plain)
    assert hooked == plain["events"]
    assert all(name != "late" for _, name, _ in hooked)


def test_a_mark_is_no_trace_function(listener):
    module = listener.run(
        "import sys\n" + READ + "def bench(case):\n    read()\n    return sys._getframe().f_trace\n"
        "def traced(case):\n    frame = sys._getframe()\n    frame.f_trace = mine = lambda *_: None\n"
        "    read()\n    kept = frame.f_trace is mine\n    frame.f_trace = None\n    return kept\n"
        "mark, kept = bench('a'), traced('a')\n"
    )
    assert module.kept
    assert not module.mark
    assert module.mark(None, "line", None) is None


def test_readings_are_no_objects_to_collect(listener):
    module = listener.run(
        READ + "def bench(shape, device):\n    t = time.time()\n    return time.time() - t\n"
        "def main(n):\n    for shape in ((1, 2), (3, 4)):\n"
        "        for _ in range(n): bench(shape, 'cpu'); read()\n"
    )
    listener.agent.emit = lambda *_record: None
    module.main(20)
    collections = []

    def count(phase, info):
        if phase == "start":
            collections.append(info["generation"])

    gc.collect()
    before = len(gc.get_objects())
    gc.callbacks.append(count)
    try:
        module.main(1000)
    finally:
        gc.callbacks.remove(count)
    assert not collections
    assert len(gc.get_objects()) - before < 150


def test_values_of_callers_die_when_they_would(listener):
    module = listener.run(
        "import weakref\n" + READ + "class Big: pass\n"
        "def inner(case):\n    for _ in range(3): read()\n"
        "def outer(big, function, case, items):\n"
        "    ref, other = weakref.ref(big), weakref.ref(function)\n"
        "    for shape in ((1, 2), (3, 4), big): inner(case)\n"
        "    items.append(big)\n    inner(case)\n    items.clear()\n"
        "    del big, function, shape\n"
        "    return ref, other\n"
        "refs = outer(Big(), lambda: 0, 'a', [])\n"
    )
    assert [ref() for ref in module.refs] == [None, None]
