"""How readings are kept: until they are found no more, and without getting in each other's way."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture
def stamps(listener):
    from coldsoak_agent import stamps

    return stamps


STAMPS = (
    "import time\nstamps = []\nfor i in range(200):\n    stamps.append(time.perf_counter())\n"
    "    if i % 7 == 0: flush()\n"
    "gaps = [b - a for a, b in zip(stamps, stamps[1:])]\nwhole = stamps[-1] - stamps[0]\n"
)


@pytest.mark.parametrize(("recent", "kept"), [(1, 10_000), (10, 10_000), (1000, 10_000)])
def test_starts_are_found_after_they_moved_on(recent, kept, listener, stamps, monkeypatch):
    monkeypatch.setattr(stamps, "_RECENT", recent)
    monkeypatch.setattr(stamps, "_KEPT", kept)
    listener.run(STAMPS.replace("flush()", "__import__('coldsoak_agent.pairs').pairs.flush()"))
    assert len(listener.of("region")) == 200
    assert len(listener.of("reading")) == 200


def test_old_readings_are_let_go(listener, stamps, monkeypatch):
    monkeypatch.setattr(stamps, "_RECENT", 1)
    monkeypatch.setattr(stamps, "_KEPT", 50)
    monkeypatch.setattr(stamps, "_IN_FLIGHT", 0)
    listener.run(STAMPS.replace("flush()", "__import__('coldsoak_agent.pairs').pairs.flush()"))
    assert len(listener.of("reading")) == 200
    assert 50 <= len(listener.of("region")) < 200
    [site] = stamps.places
    assert site.values[0] is site.by[0] is site.threads[0] is None
    assert site.values[199] is not None
    assert len(stamps.old) + len(stamps.oldest) < 200
    assert [reading[0] for reading in listener.of("reading")] == list(range(200))


@pytest.mark.parametrize("moved", [False, True])
def test_equal_values_are_told_apart_by_thread(moved, listener, stamps, monkeypatch):
    monkeypatch.setattr(stamps, "_RECENT", 1 if moved else 10_000)
    coarse = 6  # CLOCK_MONOTONIC_COARSE, which stands still for milliseconds
    module = listener.run(
        f"import time\ndef start():\n    return time.clock_gettime({coarse})\n"
        f"def stop(begin):\n    return time.clock_gettime({coarse}) - begin\n"
    )

    with ThreadPoolExecutor(1) as pool:
        here, there = 0, 1
        while here != there:
            here = module.start()
            listener.readings.flush()
            there = pool.submit(module.start).result()
        time.sleep(0.02)
        module.stop(here)
        pool.submit(module.stop, there).result()
    listener.readings.flush()
    threads = {reading[0]: reading[3] for reading in listener.of("reading")}
    regions = listener.of("region")
    assert len(regions) == 2
    assert all(threads[region[0]] == threads[region[1]] for region in regions)


def test_a_clock_that_raises_leaves_nothing_behind(listener):
    module = listener.run(
        "import time\ndef f(which):\n    t = time.clock_gettime(which)\n"
        "    return time.clock_gettime(which) - t\n"
    )
    from coldsoak_agent import pairs

    for _ in range(3):
        with pytest.raises(OSError, match="Invalid argument"):
            module.f(12345)
    module.f(module.time.CLOCK_MONOTONIC)
    listener.readings.flush()
    assert not pairs._late
    assert len(listener.of("reading")) == 2
    assert [reading[0] for reading in listener.of("reading")] == [0, 1]
    assert len(listener.of("region")) == 1


def test_a_reading_in_the_making_is_written_the_next_time(listener, stamps):
    listener.run("import time\nfor _ in range(3): t = time.time()\n")
    [site] = stamps.places
    index = site.take()
    listener.readings.flush()
    assert len(listener.of("reading")) == 3
    site.threads[index], site.ns[index], site.values[index] = 1, 2, 3.0
    listener.readings.flush()
    listener.readings.flush()
    assert listener.of("reading")[3:] == [(3, 0, -1, 1, 2, 3.0)]


def test_differences_of_a_date_and_its_subclass(listener):
    listener.run(
        "import datetime\nclass Stamp(datetime.datetime): pass\n"
        "a = datetime.datetime.now()\nb = Stamp.now()\nc = b - a\n"
    )
    assert listener.pairs() == [(3, 4)]


def test_a_difference_with_a_name_that_is_not_there(listener):
    with pytest.raises(NameError, match="absent") as raised:
        listener.run("import time\ndef f():\n    return time.time() - absent\nf()\n")
    assert raised.traceback[-1].lineno == 2


def test_the_operand_of_a_difference_is_asked_for_in_order(listener):
    module = listener.run(
        "import time\nt = time.time()\n"
        "def f():\n    global t\n    old, t = t, time.time()\n    return t\n"
        "d = f() - t\n"
    )
    assert module.d == 0.0


def test_places_made_by_many_threads_have_numbers_of_their_own(listener, stamps):
    source = "import time\n" + "".join(
        f"def f{n}():\n    t = time.perf_counter()\n    return time.perf_counter() - t\n"
        for n in range(60)
    )
    module = listener.run(source)
    barrier = threading.Barrier(4)

    def work(first):
        barrier.wait()
        for n in range(first, 60, 4):
            getattr(module, f"f{n}")()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    listener.readings.flush()
    assert [site.id for site in stamps.places] == list(range(120))
    assert len(set(listener.pairs())) == 60
