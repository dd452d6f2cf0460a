from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def sources(load):
    return load("")


def test_a_wrapped_function_keeps_result_name_and_arguments(sources, agent):
    def double(value, *, extra=0):
        """Twice."""
        return 2 * value + extra

    owner = SimpleNamespace(double=double)
    describe = lambda args, kwargs, result: {"value": args[0], "got": result}  # noqa: E731
    assert sources.wrap(agent, "x", owner, "double", "work", describe)
    assert owner.double(3, extra=1) == 7
    assert owner.double.__name__ == "double"
    assert owner.double.__doc__ == "Twice."
    assert agent.spans == [("x", "work", {"value": 3, "got": 7})]


def test_an_exception_passes_through_and_the_span_is_written(sources, agent):
    def fail():
        raise KeyError("the program's own")

    owner = SimpleNamespace(fail=fail)
    sources.wrap(agent, "x", owner, "fail", "work")
    with pytest.raises(KeyError, match="the program's own"):
        owner.fail()
    assert agent.spans == [("x", "work", {})]


def test_a_description_that_fails_costs_only_itself(sources, agent):
    owner = SimpleNamespace(f=lambda: 5)
    sources.wrap(agent, "x", owner, "f", "work", lambda args, kwargs, result: args[9])
    assert owner.f() == 5
    assert agent.spans == [("x", "work", {})]


def test_what_is_missing_is_told_and_nothing_is_wrapped_twice(sources, agent):
    owner = SimpleNamespace(f=lambda: 5)
    assert not sources.wrap(agent, "x", owner, "g", "work")
    assert not sources.wrap(agent, "x", None, "g", "work")
    assert sources.wrap(agent, "x", owner, "f", "work")
    assert sources.wrap(agent, "x", owner, "f", "work")
    owner.f()
    assert len(agent.spans) == 1


def test_a_wrapped_method_gets_its_object(sources, agent):
    class Compiler:
        def run(self, what):
            return self, what

    sources.wrap(agent, "x", Compiler, "run", "work")
    compiler = Compiler()
    assert compiler.run("a") == (compiler, "a")


def test_text_is_short_and_never_raises(sources):
    class Hostile:
        def __str__(self):
            raise RuntimeError

    assert sources.text(Hostile()) == "?"
    assert sources.text("x" * 300) == "x" * 199 + "…"
    assert sources.text(3) == "3"
