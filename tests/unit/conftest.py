"""The agent's package, imported afresh for each test and taken out again."""

import importlib
import sys
from pathlib import Path

import pytest

import coldsoak

INJECT = str(Path(coldsoak.__file__).parent / "inject")


def _take_out():
    names = [name for name in sys.modules if name.partition(".")[0] == "coldsoak_agent"]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture
def agent_module(monkeypatch):
    """Import a module of the agent by its short name."""
    monkeypatch.syspath_prepend(INJECT)
    kept = _take_out()
    yield lambda name: importlib.import_module(f"coldsoak_agent.{name}")
    _take_out()
    sys.modules.update(kept)
