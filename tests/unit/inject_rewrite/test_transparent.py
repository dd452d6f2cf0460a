"""What the program can see of itself stays as it was."""

import ast
import dis
import inspect
import linecache
import pickle
import sys
import traceback
import types

import pytest

FAILING = {
    "a clock with arguments": "import time\ndef f():\n    now = time.time\n    return now(1)\n",
    "a difference of the wrong types": (
        "import time\ndef f():\n    t = time.time()\n    return t - 'a'.upper()\n"
    ),
    "a missing start": "import time\ndef f():\n    return time.time() - start\n",
    "a timer of the user's": (
        "import time\nclass T:\n    def timer(self):\n        raise KeyError('x')\n"
        "def f():\n    t = time.time()\n    return T().timer() - t\n"
    ),
    "a missing method": "import time\ndef f():\n    return time.perf_countre() - time.time()\n",
    "a chain over lines": (
        "import time\nclass T:\n    def one(self): return self\n"
        "    def timer(self):\n        raise KeyError('x')\n"
        "def f():\n    return (\n        T()\n        .one()\n        .timer()\n    )\n"
    ),
    "an augmented assignment": (
        "import time\ndef f():\n    t = 'x'\n    t -= time.time()\n    return t\n"
    ),
    "an operator of the user's": (
        "import time\nclass V:\n    def __rsub__(self, other):\n        raise ValueError('no')\n"
        "def f():\n    t = V()\n    return time.time() - t\n"
    ),
}


def failure(code, path):
    module = types.ModuleType("failing")
    module.__dict__["__file__"] = str(path)
    exec(code, module.__dict__)
    linecache.checkcache(str(path))
    with pytest.raises(Exception) as caught:
        module.f()
    error = caught.value
    frames = error.__traceback__.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))


@pytest.mark.parametrize("name", FAILING)
def test_traceback(name, listener):
    source = FAILING[name]
    rewritten = listener.compile(source)
    path = listener.folder / "program.py"
    plain = compile(source, str(path), "exec", dont_inherit=True)
    assert "__coldsoak" in str(list(names(rewritten)))
    assert failure(rewritten, path) == failure(plain, path)


def names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names(constant)


EVERYTHING = '''#!/usr/bin/env python
"""The docstring."""
from __future__ import annotations
import time

class A:
    """A's docstring."""
    x: time.time() = 1
    def f(self, t: time.time() - time.time() = 0) -> time.time():
        """f's docstring."""
        start: time.perf_counter() = time.perf_counter()
        return (
            time.perf_counter()
            - start
        )

def g(*, clock=time.time):
    a = clock(); b = [clock() - a for _ in range(2)]
    return lambda: (clock() - a, b)
'''


def test_docstrings_annotations_and_source(listener):
    module = listener.run(EVERYTHING)
    assert module.__doc__ == "The docstring."
    assert module.A.__doc__ == "A's docstring."
    assert module.A.f.__doc__ == "f's docstring."
    assert module.A.__annotations__ == {"x": "time.time()"}
    assert module.A.f.__annotations__ == {
        "t": "time.time() - time.time()",
        "return": "time.time()",
    }
    source = inspect.getsource(module.A.f)
    assert source.startswith("    def f(self")
    assert source.rstrip().endswith(")")
    assert inspect.getsource(module.g()) == "    return lambda: (clock() - a, b)\n"
    assert module.A().f() > 0


def test_lines_are_the_lines_of_the_plain_file(listener):
    rewritten = listener.compile(EVERYTHING)
    plain = compile(EVERYTHING, rewritten.co_filename, "exec", dont_inherit=True)

    def lines(code):
        found = {line for _, line in dis.findlinestarts(code) if line}
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                found |= lines(constant)
        return found

    assert lines(rewritten) == lines(plain)


def test_line_events_are_those_of_the_plain_file(listener):
    def events(code):
        seen = []

        def trace(frame, event, _arg):
            if frame.f_code.co_filename == code.co_filename:
                seen.append((event, frame.f_code.co_name, frame.f_lineno))
                return trace
            return None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            namespace = {"__name__": "traced"}
            exec(code, namespace)
            namespace["A"]().f()
            namespace["g"]()()
        finally:
            sys.settrace(before)
        return seen

    rewritten = listener.compile(EVERYTHING)
    plain = compile(EVERYTHING, rewritten.co_filename, "exec", dont_inherit=True)
    assert set(events(rewritten)) == set(events(plain))


def test_encoding_cookie_and_byte_order_mark(listener):
    cookie = '# -*- coding: latin-1 -*-\nimport time\nname = "caf\xe9"\nt = time.time()\n'
    assert listener.run(cookie.encode("latin-1"), "cookie.py").name == "café"
    mark = b"\xef\xbb\xbfimport time\nname = 'caf\xc3\xa9'\nt = time.time()\n"
    assert listener.run(mark, "mark.py").name == "café"
    assert len(listener.of("reading")) == 2


@pytest.mark.parametrize(
    "source",
    ["import time\ndef f(:\n", "time\nreturn 1\n", "time\nx = 'a\n", "import time\n\0"],
)
def test_what_does_not_compile_fails_as_ever(source, listener):
    with pytest.raises((SyntaxError, ValueError)) as plain:
        compile(source, "bad.py", "exec")
    with pytest.raises((SyntaxError, ValueError)) as ours:
        listener.rewrite.compile_user(source.encode(), "bad.py", "bad")
    assert str(plain.value) == str(ours.value)
    assert ours.value.__context__ is None


def test_a_failure_of_the_rewriter_leaves_the_plain_program(listener, monkeypatch):
    def broken(_tree):
        raise RuntimeError("deliberate")

    monkeypatch.setattr(listener.rewrite.flow, "Flow", broken)
    module = listener.run("import time\nt = time.time()\n")
    assert module.t > 0
    [(code, text)] = listener.of("note")
    assert code == "rewrite_failed"
    assert "deliberate" in text


def test_deeply_nested_source_is_still_run(listener):
    source = "import time\nt = time.time()\nx = y = 1\nx = " + "+".join(["y"] * 480) + "\n"
    assert listener.run(source).x == 480


def test_pickles_and_types(listener):
    module = listener.run(
        "import datetime, time\nt = datetime.datetime.now()\nu = time.time()\n"
        "clock = time.time\nd = datetime.datetime.now() - t\n"
    )
    import datetime as dt
    import time

    assert type(module.t) is dt.datetime
    assert type(module.u) is float
    assert type(module.d) is dt.timedelta
    assert module.clock is time.time
    assert pickle.loads(pickle.dumps(module.t)) == module.t


def test_locals_hold_nothing_new(listener):
    module = listener.run(
        "import time\ndef f(n):\n    t = time.time()\n    u = time.time() - t\n"
        "    return sorted(locals())\nnames = f(1)\ntop = set(globals())\n"
    )
    assert module.names == ["n", "t", "u"]
    assert not [name for name in module.top if "coldsoak" in name]


def test_a_kept_locals_is_not_refreshed(listener):
    module = listener.run(
        "import time\ndef f(n):\n    kept = locals()\n    size = len(kept)\n    n = 2\n"
        "    t = time.time()\n    return dict(kept), time.time() - t\nkept, _ = f(1)\n"
    )
    assert module.kept == {"n": 1}


def test_values_in_the_frame_die_when_they_would(listener):
    module = listener.run(
        "import time, weakref\nclass Big: pass\n"
        "def f(case):\n    big = Big()\n    ref = weakref.ref(big)\n    t = time.time()\n"
        "    del big\n    alive = ref() is not None\n    return alive, time.time() - t\n"
        "alive, _ = f('a')\n"
    )
    assert module.alive is False


def test_bytecode_compilers_get_untouched_functions(listener):
    code = listener.compile(
        "import time\nfrom numba import njit\nimport torch\n"
        "@njit\ndef a(t):\n    return t - t\n"
        "def b(t):\n    return t - time.time()\nfast = njit(b)\n"
        "@torch.compile(mode='x')\ndef c(t):\n    return time.time() - t\n"
        "def d(t):\n    return time.time() - t\n"
        "a(time.time()); c(time.time())\n"
    )
    inner = {c.co_name: set(names(c)) for c in code.co_consts if isinstance(c, types.CodeType)}
    hooked = {name for name, used in inner.items() if any("coldsoak" in n for n in used)}
    assert hooked == {"d"}


def test_files_without_clocks_are_compiled_plainly(listener, monkeypatch):
    monkeypatch.setattr(listener.rewrite, "parse", None)
    assert listener.run("x = 1 - 2\n").x == -1


def test_evaluation_order(listener):
    module = listener.run(
        "import time\norder = []\n"
        "def tell(what, value):\n    order.append(what)\n    return value\n"
        "class C:\n"
        "    @property\n    def start(self):\n        order.append('get')\n        return 1.0\n"
        "def a(): return tell('left', time.time())\n"
        "c = C()\nC.begin = time.time()\nc2 = C()\n"
        "x = a() - (c.start + tell('right', 1))\n"
        "y = tell('f', time).time() - tell('t', c2).begin\n"
    )
    assert module.order == ["left", "get", "right", "f", "t"]


def test_hooks_never_raise(listener, monkeypatch):
    def broken(*_args):
        raise RuntimeError("deliberate")

    monkeypatch.setattr(listener.readings, "key_of", broken)
    monkeypatch.setattr(listener.readings, "_told", [])
    module = listener.run("import time\nt = time.time()\nd = time.time() - t\n")
    assert module.d >= 0
    assert any("deliberate" in text for _, text in listener.of("note"))


def test_unhashable_and_odd_operands(listener):
    module = listener.run(
        "import time\nt = time.time()\n"
        "class V:\n    __hash__ = None\n    def __eq__(self, other): raise TypeError\n"
        "    def __sub__(self, other): return 'v'\n"
        "    def __call__(self): return 3\n"
        "v = V()\ntime_like = v\nx = v - t\n"
        "timer = v\ny = timer()\n"
    )
    assert module.x == "v"
    assert module.y == 3


def test_every_new_node_has_a_place(listener):
    tree = ast.parse(EVERYTHING)
    assert listener.rewrite.rewrite(tree, "x.py") > 5
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            assert node.end_lineno >= node.lineno >= 1
