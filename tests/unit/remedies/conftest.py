"""Recorded sessions of ``fix``: arms whose launches take a known time."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from coldsoak.launch.store import Store
from coldsoak.model.causes import Cause
from coldsoak.model.estimate import Estimate
from coldsoak.model.ledger import Ledger, Line
from coldsoak.model.result import (
    Arm,
    Execution,
    ImportCost,
    Launch,
    Machine,
    Process,
    Result,
    Series,
    SeriesSummary,
    Summary,
)
from coldsoak.remedies.base import Context

SERIES = Series(id="s", kind="clock", label="work")


def an_import(package="torch", *, seconds=1.0, compile_s=0.4, gc_s=0.1):
    return ImportCost(
        package=package,
        modules=10,
        self_ns=int(seconds * 1e9),
        cumulative_ns=int(seconds * 1e9),
        compile_ns=int(compile_s * 1e9),
        gc_ns=int(gc_s * 1e9),
    )


def a_process(*imports, **fields):
    values = {"how": "script", "python": "3.12.3", "executable": "python"}
    return Process(
        pid=7, ppid=1, argv=("python",), start_ns=0, ready_ns=1, agent_ns=1, imports=imports,
        **values | fields,
    )  # fmt: skip


def a_launch(
    first=1.0, later=(0.1, 0.1, 0.1), *, arm="unchanged", number=1, kind="timed", **fields
):
    """A launch whose first result comes after ``first`` seconds and that ends 0.5 s later."""
    end, executions = int(first * 1e9), []
    for run, seconds in enumerate((first / 2, *later)):
        begin = end - int(seconds * 1e9) if run == 0 else end
        end = begin + int(seconds * 1e9)
        executions.append(
            Execution(
                series="s", run=run, pid=7, thread=7, start_ns=begin, end_ns=end, seconds=seconds
            )
        )
    return Launch(
        index=number,
        round=number,
        arm=arm,
        kind=kind,
        wall_ns=end + 500_000_000,
        executions=tuple(executions),
        **fields,
    )


def a_ledger(arm="command", scope="first result", **seconds):
    lines = tuple(Line(cause=Cause(name), ns=int(s * 1e9)) for name, s in seconds.items())
    total = sum(line.ns for line in lines)
    return Ledger(
        scope=scope, arm=arm, launch=1, series="s", start_ns=0, end_ns=total, total_ns=total,
        lines=lines,
    )  # fmt: skip


def a_diagnosis(*imports, argv=("python", "train.py"), cores=8.0, **seconds):
    first = Estimate(point=1.0, n=3, minimum=1.0, maximum=1.0)
    series = SeriesSummary(series="s", arm="command", launches=3, runs=(4, 4, 4), first=first)
    return Result(
        version="0",
        id="diagnosis",
        kind="run",
        created="2026-11-30T12:00:00+00:00",
        command=argv,
        machine=Machine(cores=8, cores_usable=cores),
        arms=(Arm(name="command", argv=argv),),
        series=(SERIES,),
        launches=(a_launch(arm="command", processes=(a_process(*imports),)),),
        complete=True,
        summaries=(
            Summary(arm="command", n=3, discarded=1, invalid=0, failed=0, series=(series,)),
        ),
        ledgers=(a_ledger(**seconds),),
    )


def a_context(store=Path("/store"), *, imports=(), seconds=None, **fields):
    seconds = seconds or {}
    values = {
        "environment": {},
        "packages": {"torch": "2.11.0", "jax": "0.11.2", "jaxlib": "0.11.2"},
        "imported": frozenset(one.package for one in imports),
        "python": "3.12.3",
        "site": "/site",
        "cuda_environment": {},
    }
    return Context(
        diagnosis=a_diagnosis(*imports, **seconds),
        seconds={Cause(name): value for name, value in seconds.items()},
        store=store,
        **values | fields,
    )


@pytest.fixture
def made():
    """What makes launches, diagnoses and contexts."""
    return SimpleNamespace(
        an_import=an_import,
        process=a_process,
        launch=a_launch,
        ledger=a_ledger,
        diagnosis=a_diagnosis,
        context=a_context,
        series=SERIES,
    )


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "home")
