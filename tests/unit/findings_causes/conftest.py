"""Small results made by hand, with what one rule needs and nothing else."""

import pytest

from coldsoak.findings.registry import rules
from coldsoak.findings.view import View
from coldsoak.model.causes import Cause
from coldsoak.model.facts import Card, Event, Facts
from coldsoak.model.ledger import Evidence, Item, Ledger, Line
from coldsoak.model.result import (
    Arm,
    Device,
    Execution,
    ImportCost,
    Launch,
    Machine,
    Options,
    Process,
    Result,
    Series,
    Site,
    SourceState,
)
from coldsoak.stats.summary import summarise

MS = 1_000_000
S = 1_000_000_000


class Maker:
    """Makes results; every argument has a harmless default."""

    def event(self, source, name, count=1, ms=1.0, *, details=(), starts=()):
        return Event(
            source=source, name=name, count=count, ns=int(ms * MS), details=details, starts=starts
        )

    def line(self, cause, ms, items=(), size=0):
        found = tuple(Item(label=label, ns=int(part * MS)) for label, part in items)
        return Line(cause=cause, ns=int(ms * MS), evidence=Evidence(items=found, bytes=size))

    def ledger(self, lines, *, total=2000.0, scope="first result", series="", launch=3):
        rest = int(total * MS) - sum(line.ns for line in lines)
        return Ledger(
            scope=scope,
            arm="command",
            launch=launch,
            series=series,
            start_ns=0,
            end_ns=int(total * MS),
            total_ns=int(total * MS),
            lines=(*lines, Line(cause=Cause.UNATTRIBUTED, ns=rest)),
        )

    def process(self, packages=None, argv=("python", "a.py"), pid=10, start=0, end=2000.0):
        imports = tuple(
            ImportCost(
                package=name,
                modules=100,
                self_ns=int(compile_ms * MS) + MS,
                cumulative_ns=int(compile_ms * MS) + MS,
                compile_ns=int(compile_ms * MS),
                gc_ns=0,
            )
            for name, compile_ms in (packages or {"torch": 0.0}).items()
        )
        return Process(
            pid=pid,
            ppid=1,
            argv=argv,
            how="spawn",
            python="3.12.1",
            executable="/usr/bin/python",
            start_ns=start,
            ready_ns=start + MS,
            agent_ns=MS,
            end_ns=int(end * MS),
            imports=imports,
        )

    def result(self, *, packages=None, env=None, facts=None, ledgers=(), cards=0,
               persistence=True, cold=("process",), processes=(), sources=None,
               cores=(4, 4.0), seen=(), runs=3):  # fmt: skip
        main = self.process(packages)
        series = Series(
            id="s", kind="clock", label="work, a.py:3", start=Site(file="a.py", line=3),
            end=Site(file="a.py", line=5),
        )  # fmt: skip
        launches = tuple(
            Launch(
                index=index,
                round=index,
                arm="command",
                kind="traced" if index == 3 else "timed",
                wall_ns=2 * S,
                processes=(main, *processes),
                executions=tuple(
                    Execution(series="s", run=run, pid=10, thread=10, start_ns=S + run * MS,
                              end_ns=S + (run + 1) * MS, seconds=0.001)
                    for run in range(runs)
                ),
                facts=facts if index == 3 else None,
                sources=tuple(SourceState(name=name, state="on") for name in seen),
            )
            for index in range(4)
        )  # fmt: skip
        machine = Machine(
            cores=cores[0],
            cores_usable=cores[1],
            devices=tuple(
                Device(kind="gpu", name="Card", index=i, info={"persistence": persistence})
                for i in range(cards)
            ),
        )
        made = Result(
            version="0",
            id="x",
            kind="run",
            created="2026-01-01T00:00:00Z",
            command=("python", "a.py"),
            options=Options(cold=cold),
            machine=machine,
            environment=env or {},
            arms=(Arm(name="command", argv=("python", "a.py")),),
            series=(series,),
            launches=launches,
            ledgers=tuple(ledgers),
            sources=sources or {},
        )
        from msgspec.structs import replace

        return replace(made, summaries=summarise(made))

    def facts(self, *events, **more):
        return Facts(events=tuple(events), **more)

    def card(self, memory=100 << 30):
        return Card(index=0, name="Card", capability="9.0", memory_bytes=memory)


@pytest.fixture
def make():
    return Maker()


@pytest.fixture
def found():
    """Return the findings of one rule on a result."""

    def judge(code, result):
        return list(rules()[code].find(View(result)))

    return judge
