"""Run small programs through the rewriter inside this process, with an agent that only listens."""

import sys
import types
from pathlib import Path

import pytest

INJECT = Path(__file__).parents[3] / "src" / "coldsoak" / "inject"


class Listener:
    """Runs programs rewritten and keeps the records that the hooks emit."""

    def __init__(self, folder, agent, rewrite, readings):
        self.folder, self.agent, self.rewrite, self.readings = folder, agent, rewrite, readings
        self.records = []

    def emit(self, *record):
        self.records.append(record)

    def compile(self, source, name="program.py"):
        path = self.folder / name
        data = source if isinstance(source, bytes) else source.encode()
        path.write_bytes(data)
        return self.rewrite.compile_user(data, str(path), path.stem)

    def run(self, source, name="program.py"):
        code = self.compile(source, name)
        module = types.ModuleType(Path(name).stem)
        module.__file__ = str(self.folder / name)
        sys.modules[module.__name__] = module
        try:
            exec(code, module.__dict__)
        finally:
            del sys.modules[module.__name__]
        self.readings.flush()
        return module

    def of(self, tag):
        return [record[1:] for record in self.records if record[0] == tag]

    def sites(self):
        return {number: rest for number, *rest in self.of("site")}

    def keys(self):
        return {number: (stack, dict(case)) for number, stack, case in self.of("key")}

    def pairs(self):
        """(line of the start, line of the end) of each region of readings, in order."""
        lines = {number: line for number, (_, line, _, _) in self.sites().items()}
        at = {reading[0]: lines[reading[1]] for reading in self.of("reading")}
        return [(at[r[0]], at[r[1]]) for r in self.of("region") if r[7] == "clock"]

    def series(self):
        """Executions of each region, by (lines of the stack, case)."""
        found = {}
        keys = self.keys()
        for region in self.of("region"):
            stack, case = keys[region[2]]
            name = (tuple(frame[1] for frame in stack), tuple(sorted(case.items())))
            found.setdefault(name, []).append(region[6])
        return found


@pytest.fixture
def listener(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(INJECT))
    from coldsoak_agent import callers, core, readings, rewrite, userfiles

    def is_the_programs(path):
        return str(path).startswith(str(tmp_path))

    monkeypatch.setattr(
        userfiles, "is_user_file", is_the_programs
    )  # the test's frames are nobody's
    monkeypatch.setattr(callers, "_far_left", callers._FAR_WALKS)  # earlier tests use it up

    agent = core.agent
    heard = Listener(tmp_path, agent, rewrite, readings)
    monkeypatch.setattr(agent, "emit", heard.emit)
    monkeypatch.setattr(agent, "urgent", heard.emit)
    monkeypatch.setattr(agent, "spool", types.SimpleNamespace(flush=lambda: None))
    monkeypatch.setattr(agent, "mode", "timed")
    for name in ("_flushers", "_at_exit", "_at_fork"):
        monkeypatch.setattr(agent, name, [])
    readings.install()
    readings.after_fork()
    yield heard
    readings.after_fork()
