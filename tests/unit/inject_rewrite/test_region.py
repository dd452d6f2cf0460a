"""``coldsoak.region`` in a measured process and outside of one."""

import sys

import pytest


def declared(listener):
    keys = listener.keys()
    return [(r[8], keys[r[2]][1]) for r in listener.of("region") if r[7] == "declared"]


def test_with_and_nesting(listener):
    listener.run(
        "from coldsoak.regions import region\n"
        "with region('outer', device='cpu') as r:\n"
        "    with region('inner'):\n        pass\n"
        "assert isinstance(r, region)\n"
    )
    assert declared(listener) == [("inner", {}), ("outer", {"device": "'cpu'"})]
    inner, outer = listener.of("region")
    assert outer[4] <= inner[4] <= inner[5] <= outer[5]
    assert outer[6] == (outer[5] - outer[4]) / 1e9


def test_decorator(listener):
    listener.run(
        "from coldsoak.regions import region\n"
        "@region('work')\ndef f(x):\n    'Doc.'\n    return x\n"
        "assert f(2) == 2 and f.__doc__ == 'Doc.' and f.__name__ == 'f'\n"
        "for shape in (1, 2):\n    f(3)\n"
    )
    assert declared(listener) == [("work", {}), ("work", {"shape": "1"}), ("work", {"shape": "2"})]


def test_async(listener):
    listener.run(
        "import asyncio\nfrom coldsoak.regions import region\n"
        "@region('task')\nasync def f(s):\n    await asyncio.sleep(s)\n    return s\n"
        "shared = region('shared')\n"
        "async def g(s):\n    async with shared:\n        await asyncio.sleep(s)\n"
        "    return s\n"
        "async def main():\n"
        "    return await asyncio.gather(f(.01), f(.02), g(.03), g(.01))\n"
        "assert asyncio.run(main()) == [.01, .02, .03, .01]\n"
    )
    regions = listener.of("region")
    assert sorted(r[8] for r in regions) == ["shared", "shared", "task", "task"]
    short, long = sorted(r[6] for r in regions if r[8] == "shared")
    assert short >= 0.009  # asyncio's clock may round a sleep down by some of its resolution
    assert long >= 0.029


def test_shared_by_threads(listener):
    listener.run(
        "import threading, time\nfrom coldsoak.regions import region\nr = region('r')\n"
        "def work(s):\n    with r:\n        time.sleep(s)\n"
        "ts = [threading.Thread(target=work, args=(s,)) for s in (.03, .01)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\n"
    )
    seconds = [r[6] for r in listener.of("region")]
    assert seconds[0] == pytest.approx(0.01, abs=0.008)
    assert seconds[1] == pytest.approx(0.03, abs=0.008)


def test_exit_stack_and_exceptions(listener):
    with pytest.raises(KeyError):
        listener.run(
            "import contextlib\nfrom coldsoak.regions import region\n"
            "with contextlib.ExitStack() as stack:\n"
            "    stack.enter_context(region('a'))\n    raise KeyError\n"
        )
    listener.readings.flush()
    assert [name for name, _ in declared(listener)] == ["a"]


def test_outside_a_measured_process_it_does_nothing(monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "coldsoak_agent"]:
        monkeypatch.delitem(sys.modules, name)
    from coldsoak.regions import region

    def f():
        return 1

    assert region("x")(f) is f
    with region("x", shape=(1, 2)) as r:
        pass
    assert r._agent is None
    assert "coldsoak_agent" not in sys.modules
