"""The agent object: sources and callbacks that misbehave, and what is told of them."""

import sys
import types

import pytest


class Recorder:
    """Stands in for the spool."""

    wake = None

    def __init__(self):
        self.records = []

    def flush(self):
        self.records.append(("flushed",))


@pytest.fixture
def agent(agent_module):
    agent = agent_module("core").Agent()
    agent.spool = Recorder()
    agent.emit = agent.urgent = lambda *record: agent.spool.records.append(record)
    return agent


def source(monkeypatch, agent_module, name, **functions):
    module = types.ModuleType(name)
    vars(module).update(functions)
    agent_module("sources")
    monkeypatch.setitem(sys.modules, f"coldsoak_agent.sources.{name}", module)


def test_sources_say_how_they_fare(agent, agent_module, monkeypatch):
    off = agent_module("sources").Off

    def refuse(_agent):
        raise off("no kernel support")

    def break_down(_agent):
        raise RuntimeError("bug")

    def explain(agent):
        agent.source("talker", "on", "at 999 Hz", 5)

    source(monkeypatch, agent_module, "good", start=lambda _agent: None)
    source(monkeypatch, agent_module, "refusing", start=refuse)
    source(monkeypatch, agent_module, "broken", start=break_down)
    source(monkeypatch, agent_module, "talker", start=explain)
    agent.sources = ("good", "refusing", "broken", "talker", "absent", "../core")
    agent.start_sources()
    told = {record[1]: record[2:4] for record in agent.spool.records}
    assert told["good"] == ("on", "")
    assert told["refusing"] == ("off", "no kernel support")
    assert told["broken"] == ("off", "failed: RuntimeError('bug')")
    assert told["talker"] == ("on", "at 999 Hz")
    assert told["absent"][0] == told["../core"][0] == "off"
    assert sorted(agent.started) == ["good", "talker"]


def test_flush_lets_everybody_write_first(agent):
    order = []
    agent.add_flush(lambda: order.append("callback"))
    agent.started["s"] = types.SimpleNamespace(flush=lambda _agent: order.append("source"))
    agent.add_flush(lambda: 1 / 0)
    agent.flush()
    assert order == ["callback", "source"]
    assert [record[0] for record in agent.spool.records] == ["note", "flushed"]


def test_finish_runs_the_latest_first_and_once(agent):
    order = []
    agent.at_exit(lambda: order.append(1))
    agent.at_exit(lambda: order.append(2))
    agent.started["s"] = types.SimpleNamespace(stop=lambda _agent: order.append("stop"))
    agent.finish()
    agent.finish()
    assert order == [2, 1, "stop"]


def test_on_import_calls_at_once_what_is_there(agent, agent_module):
    seen = []
    agent_module("imports")
    agent.on_import("json.decoder" if "json.decoder" in sys.modules else "sys", seen.append)
    agent.on_import("a_module_that_is_not_there", seen.append)
    assert len(seen) == 1


def test_before_the_start_everything_is_dropped(agent_module):
    agent = agent_module("core").Agent()
    agent.cost("x", 1, 2)
    agent.note("code", "text")
    agent.source("name", "on")
    agent.file("kind", "path")
