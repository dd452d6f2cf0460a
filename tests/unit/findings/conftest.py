"""Results made by hand, for rules that only read them."""

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from coldsoak.findings.registry import rules
from coldsoak.findings.view import View
from coldsoak.model.facts import Card, Facts, KernelUse, Work
from coldsoak.model.result import (
    Arm,
    Conditions,
    Device,
    Execution,
    ImportCost,
    Launch,
    Machine,
    Process,
    Result,
    Series,
    Site,
    SourceState,
)
from coldsoak.stats.summary import summarise

MS = 1_000_000
GPU = Device(kind="gpu", name="NVIDIA H200")
H200 = Card(
    index=0,
    name="NVIDIA H200",
    capability="9.0",
    multiprocessors=132,
    clock_hz=1.98e9,
    bandwidth=4.8e12,
    peaks={"fp32": 66.9e12, "tf32": 535e12, "fp16": 1070e12},
)


@dataclass
class Maker:
    """Builds a result launch by launch."""

    packages: tuple[str, ...] = ()
    gpu: bool = False
    source: str = ""
    cpu: float = 0.0
    """Share of the machine that others took."""
    launches: list[Launch] = field(default_factory=list)
    series: dict[str, Series] = field(default_factory=dict)

    def region(self, name="r", lines=(8, 11), function="<module>", order=0, **case):
        self.series[name] = Series(
            id=name,
            kind="clock",
            label=f"{function} (demo.py:{lines[0]}-{lines[1]})"
            + "".join(f" {k}={v}" for k, v in case.items()),
            start=Site(file="demo.py", line=lines[0], function=function),
            end=Site(file="demo.py", line=lines[1], function=function),
            case=case,
            order=order,
        )
        return self

    def launch(self, kind="timed", *, threads=(), gaps=(), tail_ms=0.0, facts=None, **series):
        """Add a launch: milliseconds by run for each series, in this order."""
        at, executions = 100 * MS, []
        for name, runs in series.items():
            for run, ms in enumerate(runs):
                at += round(gaps[run] * 1000 * MS) if run < len(gaps) else MS // 100
                end = at + round(ms * MS)
                executions.append(
                    Execution(
                        series=name,
                        run=run,
                        pid=1,
                        thread=threads[run] if threads else 1,
                        start_ns=at,
                        end_ns=end,
                        seconds=ms / 1e3,
                        ready_ns=end + round(tail_ms * MS) if kind == "synced" else None,
                    )
                )
                at = end
        imports = tuple(
            ImportCost(package=p, modules=1, self_ns=1, cumulative_ns=1, compile_ns=0, gc_ns=0)
            for p in self.packages
        )
        process = Process(
            pid=1,
            ppid=0,
            argv=("python", "demo.py"),
            how="script",
            python="3.12.3",
            executable="python",
            start_ns=0,
            ready_ns=1,
            agent_ns=1,
            imports=imports,
        )
        number = len(self.launches) + 1
        self.launches.append(
            Launch(
                index=number,
                round=number,
                arm="command",
                kind=kind,
                wall_ns=at,
                processes=(process,),
                executions=tuple(executions),
                conditions=Conditions(foreign_cpu=self.cpu),
                facts=facts,
                sources=(SourceState(name="cupti", state="on"),) if facts else (),
            )
        )
        return self

    def result(self, **fields):
        for name in {e.series for one in self.launches for e in one.executions} - set(self.series):
            self.region(name)
        result = Result(
            version="0.1.0",
            id="x",
            kind="run",
            created="2026-11-30T12:00:00Z",
            command=("python", "demo.py"),
            machine=Machine(cores=16, devices=(GPU,) if self.gpu else ()),
            arms=(Arm(name="command", argv=("python", "demo.py")),),
            series=tuple(self.series.values()),
            launches=tuple(self.launches),
            sources={"demo.py": self.source} if self.source else {},
            complete=True,
        )
        result = replace(result, **fields)
        return replace(result, summaries=summarise(result))

    def find(self, code, **fields):
        return list(rules()[code].find(View(self.result(**fields))))


def works_of(series, runs, *, busy_ms=0.5, tail_ms=0.0, kernels=10, name="sm80_gemm_f32f32_f32f32"):
    """Return the facts of a traced launch whose runs queued work."""
    made = tuple(
        Work(
            series=series,
            run=run,
            busy_ns=round(busy_ms * MS),
            tail_ns=round(tail_ms * MS),
            devices=(0,),
            kernels=(KernelUse(name=name, count=kernels, ns=round(busy_ms * MS)),),
            kernel_count=kernels,
        )
        for run in range(runs)
        if kernels
    )
    return Facts(
        cards=(H200,), device_seen=True, work=made, kernels=made[0].kernels if made else ()
    )


@pytest.fixture
def make():
    return Maker


@pytest.fixture
def works():
    return works_of
