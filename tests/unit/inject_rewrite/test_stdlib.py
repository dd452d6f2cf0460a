"""The standard library's own sources, rewritten as if they were a user's.

With every name taken for a possible clock, each call without arguments and each subtraction goes
through a hook: what still works then works with the few that a program has.
"""

import doctest
import pathlib
import sys
import sysconfig
import types

import pytest

LIBRARY = pathlib.Path(sysconfig.get_paths()["stdlib"])
FILES = sorted(
    path
    for folder in (".", "asyncio", "concurrent/futures", "email", "json", "importlib", "unittest")
    for path in LIBRARY.joinpath(folder).glob("*.py")
)
WITH_DOCTESTS = ["difflib", "statistics", "textwrap", "fractions", "enum", "heapq", "ast"]


@pytest.fixture
def everything(listener, monkeypatch):
    """Take every name for a possible clock."""
    from coldsoak_agent import graph

    monkeypatch.setattr(graph.Graph, "_any", lambda self, atoms, bit: True)
    return listener


def test_every_file_compiles(listener):
    hooked = 0
    for path in FILES:
        source = path.read_bytes()
        tree = listener.rewrite.parse(source, str(path))
        hooked += bool(listener.rewrite.rewrite(tree, str(path)))
        compile(tree, str(path), "exec", dont_inherit=True)
    assert len(FILES) > 200
    assert hooked > 30


def load(listener, name, rewritten):
    path = LIBRARY / (name + ".py")
    source = path.read_bytes()
    if rewritten:
        tree = listener.rewrite.parse(source, str(path))
        assert listener.rewrite.rewrite(tree, str(path)) > 0
        code = compile(tree, str(path), "exec", dont_inherit=True)
    else:
        code = compile(source, str(path), "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    exec(code, module.__dict__)
    return module


@pytest.mark.parametrize("name", WITH_DOCTESTS)
@pytest.mark.filterwarnings("ignore")
def test_doctests_give_the_same(name, everything, monkeypatch, capsys):
    outcomes = []
    for rewritten in (False, True):
        module = load(everything, name, rewritten)
        monkeypatch.setitem(sys.modules, name, module)
        outcomes.append((doctest.testmod(module), capsys.readouterr().out))
    assert outcomes[0] == outcomes[1]


def test_pure_python_datetime(everything):
    name = "_pydatetime" if sys.version_info >= (3, 12) else "datetime"
    results = []
    for rewritten in (False, True):
        dt = load(everything, name, rewritten)
        a = dt.datetime(2024, 2, 29, 12, 30, 15, 7, dt.timezone(dt.timedelta(hours=2)))
        b = a - dt.timedelta(days=400, seconds=7)
        results.append((str(a), str(b), (a - b).total_seconds(), a.isocalendar()[:2], repr(b)))
    assert results[0] == results[1]


def test_random_sequences(everything):
    results = []
    for rewritten in (False, True):
        random = load(everything, "random", rewritten)
        r = random.Random(7)
        results.append([r.random(), r.gauss(0, 1), r.sample(range(99), 5), r.betavariate(1, 2)])
    assert results[0] == results[1]
