from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import coldsoak

INJECT = Path(coldsoak.__file__).parent / "inject"


class FakeAgent:
    """Keeps what a source says; frameworks are 'imported' by calling ``imported``."""

    def __init__(self, folder: Path) -> None:
        self.records: list[tuple] = []
        self.waiting: dict[str, object] = {}
        self.folder = folder

    def emit(self, *record):
        self.records.append(record)

    def cost(self, *fields):
        self.emit("cost", *fields)

    def source(self, name, state, reason="", cost_ns=0, lost=0):
        self.emit("source", name, state, reason, cost_ns, lost)

    def file(self, *fields):
        self.emit("file", *fields)

    def spool_path(self, suffix):
        return str(self.folder / f"1-1.{suffix}")

    def on_import(self, name, callback):
        self.waiting[name] = callback

    def imported(self, name, **members):
        module = ModuleType(name)
        module.__dict__.update(members)
        self.waiting[name](module)
        return module

    def of(self, tag):
        return [record[1:] for record in self.records if record[0] == tag]

    @property
    def spans(self):
        """(source, name, args) of each span; start must not be after end."""
        assert all(start <= end for _, _, _, start, end, _ in self.of("span"))
        return [(source, name, args) for source, name, _, _, _, args in self.of("span")]

    @property
    def state(self):
        return self.of("source")[-1][1:3]


@pytest.fixture
def agent(tmp_path):
    return FakeAgent(tmp_path)


@pytest.fixture
def load(monkeypatch):
    """Import a source module afresh, without the rest of the agent."""

    def fresh(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(INJECT))
        for loaded in [module for module in sys.modules if module.startswith("coldsoak_agent")]:
            monkeypatch.delitem(sys.modules, loaded)
        return importlib.import_module("coldsoak_agent.sources" + (f".{name}" if name else ""))

    yield fresh
    for loaded in [module for module in sys.modules if module.startswith("coldsoak_agent")]:
        del sys.modules[loaded]
