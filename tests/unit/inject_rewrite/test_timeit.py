"""``timeit`` gives regions of its own kind, to user code alone."""

import timeit

import pytest


@pytest.fixture
def hooked(listener, monkeypatch):
    from coldsoak_agent import timeit_hook

    monkeypatch.setattr(timeit.Timer, "timeit", timeit.Timer.timeit)
    timeit_hook.install(timeit)
    return listener


@pytest.mark.parametrize(
    ("call", "loops"),
    [
        ("timeit.timeit('1 + 1', number=50)", [50]),
        ("timeit.repeat('1 + 1', number=20, repeat=3)", [20, 20, 20]),
        ("Timer('1 + 1').timeit(7)", [7]),
        ("Timer(lambda: 1).repeat(2, 5)", [5, 5]),
        ("once(stmt=int, number=4)", [4]),
    ],
)
def test_regions(call, loops, hooked):
    module = hooked.run(f"import timeit\nfrom timeit import Timer, timeit as once\nx = {call}\n")
    regions = hooked.of("region")
    assert [r[10] for r in regions] == loops
    assert {r[7] for r in regions} == {"timeit"}
    assert [r[6] for r in regions] == (module.x if isinstance(module.x, list) else [module.x])
    assert all(r[6] <= (r[5] - r[4]) / 1e9 for r in regions)
    assert all(hooked.keys()[r[2]][0][0][1] == 3 for r in regions)


def test_autorange(hooked):
    module = hooked.run(
        "import timeit, time\nx = timeit.Timer(lambda: time.sleep(.1)).autorange()\n"
    )
    loops = [r[10] for r in hooked.of("region")]
    assert loops == [1, 2][: len(loops)]  # on a busy machine one sleep is long enough
    assert module.x[0] == loops[-1]


def test_libraries_are_left_alone(hooked):
    namespace = {"timeit": timeit}
    code = compile("timeit.timeit('1', number=3)", "/usr/lib/python3/dist-packages/x.py", "exec")
    import threading

    thread = threading.Thread(target=exec, args=(code, namespace))
    thread.start()
    thread.join()
    assert not hooked.of("region")


def test_errors_pass_through(hooked):
    with pytest.raises(ZeroDivisionError):
        hooked.run("import timeit\ntimeit.timeit('1/0', number=1)\n")
    assert not hooked.of("region")
