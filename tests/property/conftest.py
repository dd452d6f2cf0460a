"""A busy machine may stop a process for a while: how long an example takes proves nothing."""

import sys
import types
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("coldsoak", deadline=None)
settings.load_profile("coldsoak")

INJECT = Path(__file__).parents[2] / "src" / "coldsoak" / "inject"


class Hooks(types.SimpleNamespace):
    """The modules of the agent, and what they emitted."""

    def __repr__(self):
        return "Hooks()"


@pytest.fixture(scope="module")
def agent():
    """The hooks with a list in place of the spool."""
    sys.path.insert(0, str(INJECT))
    from coldsoak_agent import callers, core, keys, readings, rewrite

    records = []
    kept = {name: core.agent.__dict__.get(name) for name in HELD}
    core.agent.emit = core.agent.urgent = lambda *record: records.append(record)
    core.agent.spool = types.SimpleNamespace(flush=lambda: None)
    core.agent.mode = "timed"
    core.agent._flushers, core.agent._at_exit, core.agent._at_fork = [], [], []
    yield Hooks(records=records, readings=readings, rewrite=rewrite, keys=keys, callers=callers)
    readings.after_fork()
    for name, value in kept.items():
        setattr(core.agent, name, value)
    sys.path.remove(str(INJECT))


HELD = ("emit", "urgent", "spool", "mode", "_flushers", "_at_exit", "_at_fork")
