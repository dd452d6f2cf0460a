"""Which executions belong to one series: the key's stack and case."""

import pytest


def cases(listener):
    """The case of each region in order, with how often it came in a row."""
    keys = listener.keys()
    found = []
    for region in listener.of("region"):
        case = keys[region[2]][1]
        if found and found[-1][0] == case:
            found[-1][1] += 1
        else:
            found.append([case, 1])
    return [tuple(pair) for pair in found]


TIMED = "import time\ndef bench({args}):\n    t = time.time()\n    return time.time() - t\n"


@pytest.mark.parametrize(
    ("args", "calls", "want"),
    [
        ("run, x", "for run in range(4): bench(run, 'a')", [({"x": "'a'"}, 4)]),
        (
            "device",
            "for device in ['cpu', 'gpu']:\n    for run in range(3): bench(device)",
            [({"device": "'cpu'"}, 3), ({"device": "'gpu'"}, 3)],
        ),
        (
            "shape",
            "for shape in [(50, 50), (100, 100)]:\n    bench(shape)\n    bench(shape)",
            [({"shape": "(50, 50)"}, 2), ({"shape": "(100, 100)"}, 2)],
        ),
        (
            "n",
            "for i, n in enumerate([100, 101, 102, 103, 104]): bench(n)",
            [({"n": str(n)}, 1) for n in range(100, 105)],
        ),
        (
            "n",
            "for n in range(100, 400, 100): bench(n)",
            [({"n": "100"}, 1), ({"n": "200"}, 1), ({"n": "300"}, 1)],
        ),
        (
            "n",
            "sizes = [1, 2, 3, 4, 5, 6]\nfor n in sizes: bench(n)",
            [({"n": str(n)}, 1) for n in range(1, 7)],
        ),
        ("i", "for i in (0, 1, 2): bench(i)", [({"i": "0"}, 1), ({"i": "1"}, 1), ({"i": "2"}, 1)]),
        ("seed, k=3", "for s in range(3): bench(seed=s)", [({"k": "3"}, 3)]),
        (
            "f",
            "for f in (len, bench, dict): bench(f)",
            [({"f": "len"}, 1), ({"f": "bench"}, 1), ({"f": "dict"}, 1)],
        ),
        (
            "a, b",
            "for a, b in zip(['x', 'y'], range(2)): bench(a, b)",
            [({"a": "'x'"}, 1), ({"a": "'y'"}, 1)],
        ),
        ("label", 'for i in range(4): bench(f"run {i}")', [({}, 4)]),
        ("label", 'for i in range(4): bench("run %d" % i)', [({}, 4)]),
        ("label", 'for i in range(4): bench("run {}".format(i))', [({}, 4)]),
        ("label", 'for i in range(4): bench("run " + str(i + 1))', [({}, 4)]),
        (
            "label",
            'for d in ("a", "b"): bench(f"on {d}")',
            [({"label": "'on a'"}, 1), ({"label": "'on b'"}, 1)],
        ),
        ("flag", "[bench(flag) for flag in (True, False)]", None),
        ("big", "bench([0] * 100)\nbench(object())\nbench('x' * 100)", [({}, 3)]),
    ],
)
def test_case_of_parameters(args, calls, want, listener):
    # the loops stand in a function so that only the parameters of ``bench`` name the case
    body = "\n".join("    " + line for line in calls.splitlines())
    listener.run(TIMED.format(args=args) + f"def main():\n{body}\nmain()\n")
    inner = [({k: v for k, v in case.items() if k in args}, n) for case, n in cases(listener)]
    if want is None:
        want = [({"flag": "True"}, 1), ({"flag": "False"}, 1)]
    assert inner == want


def test_caller_loop_variables_name_the_case(listener):
    listener.run(
        TIMED.format(args="") + "shapes = [(1,), (2,)]\n"
        "for i in range(len(shapes)):\n    shape = shapes[i]\n    for run in range(2): bench()\n"
    )
    assert cases(listener) == [({"shape": "(1,)"}, 2), ({"shape": "(2,)"}, 2)]


def test_a_decorator_s_function_names_the_case(listener):
    listener.run(
        "import time\n"
        "def timed(function, unused=None):\n"
        "    def inner(n):\n"
        "        t = time.time()\n"
        "        function()\n"
        "        print(time.time() - t)\n"
        "    return inner\n"
        "@timed\ndef work(): pass\n@timed\ndef other(): pass\n"
        "for f in (work, other):\n    for n in range(3): f(n)\n"
    )
    assert [(case["function"], n) for case, n in cases(listener)] == [("work", 3), ("other", 3)]


def test_a_loop_that_is_over_names_nothing(listener):
    listener.run("import time\nfor d in 'ab': pass\nt = time.time()\nprint(time.time() - t)\n")
    assert cases(listener) == [({}, 1)]


def test_temporaries_do_not_count(listener):
    listener.run(
        "import time\ndef f():\n    label = str(time.time())\n    t = time.time()\n"
        "    return time.time() - t\nfor _ in range(3): f()\n"
    )
    assert cases(listener) == [({}, 3)]


def test_two_callers_are_two_series(listener):
    listener.run(TIMED.format(args="") + "for r in range(3): bench()\nfor r in range(3): bench()\n")
    assert [len(v) for v in listener.series().values()] == [3, 3]


def test_counter_through_another_module_is_found_as_it_runs(listener):
    module = listener.run(TIMED.format(args="run, x"), "helper.py")
    for run in range(5):
        module.bench(run, "a")
    listener.readings.flush()
    assert cases(listener) == [({"x": "'a'"}, 5)]


def test_counter_from_another_start_is_found_at_the_fourth_run(listener):
    module = listener.run(TIMED.format(args="step"), "helper.py")
    for step in range(7, 12):
        module.bench(step)
    listener.readings.flush()
    assert cases(listener) == [({}, 5)]


def test_sweep_through_another_module_is_kept(listener):
    module = listener.run(TIMED.format(args="n"), "helper.py")
    for n in (1, 2, 4, 8, 1, 2, 4, 8):
        module.bench(n)
    listener.readings.flush()
    assert {tuple(c.items()) for c, _ in cases(listener)} == {
        (("n", "1"),), (("n", "2"),), (("n", "4"),), (("n", "8"),),
    }  # fmt: skip


def test_data_is_no_case(listener):
    listener.run(
        TIMED.format(args="line") + "for number in range(200): bench('line %d' % number)\n"
    )
    assert cases(listener) == [({}, 200)]
    assert len(listener.keys()) < 150


def test_enumerations_and_unknown_objects(listener):
    listener.run(
        "import enum\nclass Mode(enum.Enum):\n    EAGER = 1\n    def __repr__(self): raise KeyError\n"
        "class Odd:\n    def __repr__(self): raise KeyError\n"
        + TIMED.format(args="mode, odd")
        + "bench(Mode.EAGER, Odd())\n"
    )
    assert cases(listener) == [({"mode": "Mode.EAGER"}, 1)]


def test_deep_recursion_is_bounded(listener):
    listener.run(
        "import time\ndef f(depth):\n    if depth: return f(depth - 1)\n"
        "    t = time.time()\n    return time.time() - t\nf(300)\n"
    )
    for stack, _ in listener.keys().values():
        assert len(stack) == 16


def test_only_ten_thousand_readings_of_a_place_are_recorded(listener):
    listener.run("import time\nfor _ in range(10200):\n    t = time.time()\nu = time.time() - t\n")
    assert len(listener.of("reading")) == 10_001
    assert listener.of("note")[0][0] == "readings_capped"
    for callback in listener.agent._at_exit:
        callback()
    assert "10200 readings" in listener.of("note")[-1][1]


def test_seconds_of_each_clock(listener):
    listener.run(
        "import time, datetime\n"
        "a, b = time.perf_counter_ns(), datetime.datetime.now()\n"
        "time.sleep(0.02)\n"
        "print(time.perf_counter_ns() - a, datetime.datetime.now() - b)\n"
    )
    seconds = [region[6] for region in listener.of("region")]
    assert len(seconds) == 2
    assert all(0.019 < s < 0.2 for s in seconds)


def test_synced_mode_waits_at_the_end_and_says_when(listener, monkeypatch):
    from coldsoak_agent import sync

    waits = []
    monkeypatch.setattr(sync, "wait_devices", lambda: waits.append(1))
    monkeypatch.setattr(listener.agent, "mode", "synced")
    listener.run("import time\nfor _ in range(2):\n    t = time.time()\n    d = time.time() - t\n")
    regions = listener.of("region")
    assert len(waits) == len(regions) == 2
    assert all(region[9] >= region[5] for region in regions)


def test_fork_starts_over(listener):
    listener.run("import time\nt = time.time()\n")
    listener.readings.after_fork()
    listener.records.clear()
    listener.run("import time\nt = time.time()\nu = time.time() - t\n")
    assert [r[0] for r in listener.of("reading")] == [0, 1]
    assert [s[0] for s in listener.of("site")] == [0, 1]
    assert listener.of("key")[0][0] == 0


def test_names_that_hold_nothing_of_use_are_given_up(listener):
    module = listener.run(TIMED.format(args="model, late=None"), "helper.py")
    for _ in range(40):
        module.bench(object())
    module.bench(object(), "x")
    listener.readings.flush()
    assert cases(listener) == [({}, 41)]


def test_types_of_frameworks_by_name_alone(listener):
    shown = {"__module__": "torch", "__repr__": lambda self: "device(type='cpu')"}
    device, other = type("device", (), shown), type("Tensor", (), shown)
    module = listener.run(TIMED.format(args="device, x"), "helper.py")
    module.bench(device(), other())
    listener.readings.flush()
    assert cases(listener) == [({"device": "device(type='cpu')"}, 1)]
