"""Results made by hand: realistic launches, summarised by the real statistics."""

import random
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from coldsoak.findings.mistakes import async_timing
from coldsoak.findings.view import View
from coldsoak.model.causes import Cause
from coldsoak.model.ledger import Evidence, Item, Ledger, Line
from coldsoak.model.result import (
    Arm,
    Case,
    Child,
    Device,
    Execution,
    ImportCost,
    Launch,
    Machine,
    Note,
    Options,
    Process,
    Result,
    Series,
    Site,
    SourceState,
    Stretch,
)
from coldsoak.stats.summary import summarise

MS = 1_000_000
MACHINE = Machine(
    system="Linux 6.8",
    cpu="AMD EPYC 9654",
    cores=16,
    devices=(Device(kind="gpu", name="NVIDIA H200"),),
)


@dataclass
class Builder:
    """Makes launches whose stretches add up, with noise that is the same in every run."""

    noise: random.Random = field(default_factory=lambda: random.Random(7))

    def near(self, ms, spread=0.02):
        return round(ms * MS * self.noise.lognormvariate(0, spread))

    def launch(self, index, series, *, before=900, exit_ms=60, arm="command", **fields):
        """Run ``series`` (id -> milliseconds of its runs) after ``before`` ms of imports."""
        start, agent, imports = self.near(58), 3 * MS, self.near(before)
        at = start + agent + imports
        executions, stretches = [], []
        for name, runs in series.items():
            gap = self.near(35)
            stretches.append(Stretch(kind="between", name=f"before {name}", ns=gap))
            at += gap
            begin = at
            for run, ms in enumerate(runs):
                length = self.near(ms)
                executions.append(_execution(name, run, at, length))
                at += length
            stretches.append(Stretch(kind="region", name=name, ns=at - begin))
        last = self.near(exit_ms)
        head = (
            Stretch(kind="start", name="", ns=start),
            Stretch(kind="agent", name="", ns=agent),
            Stretch(kind="import", name="", ns=imports),
        )
        main = Process(
            pid=4000 + index,
            ppid=1,
            argv=("python", "demo.py"),
            how="script",
            python="3.12.3",
            executable="python",
            start_ns=0,
            ready_ns=start,
            agent_ns=agent,
            end_ns=at + last,
            stretches=(*head, *stretches, Stretch(kind="exit", name="", ns=last)),
            imports=_imports(imports),
        )
        base = Launch(
            index=index,
            round=index,
            arm=arm,
            kind="timed",
            exit_code=0,
            wall_ns=at + last,
            processes=(main,),
            executions=tuple(executions),
            log=f"logs/{index:03d}.log",
        )
        return replace(base, **fields)


def _execution(name, run, at, length):
    return Execution(
        series=name,
        run=run,
        pid=1,
        thread=1,
        start_ns=at,
        end_ns=at + length,
        seconds=length / 1e9,
    )


def _imports(total):
    def cost(package, modules, own, whole, compiled, gc):  # noqa: PLR0917 (a table's row)
        return ImportCost(
            package=package,
            modules=modules,
            self_ns=round(total * own),
            cumulative_ns=round(total * whole),
            compile_ns=round(total * compiled),
            gc_ns=round(total * gc),
        )

    return (
        cost("tensorflow", 1204, 0.62, 0.97, 0.21, 0.05),
        cost("keras", 410, 0.14, 0.19, 0.06, 0.01),
        cost("numpy", 96, 0.09, 0.11, 0.02, 0.0),
        cost("google", 40, 0.04, 0.05, 0.0, 0.0),
        *(cost(f"small{i}", 2, 0.005, 0.006, 0.0, 0.0) for i in range(8)),
    )


def finish(launches, series=(), *, kind="run", arms=None, **fields):
    """Return the result of ``launches`` with its summaries."""
    command = ("python", "demo.py")
    result = Result(
        version="0.1.0",
        id="20261130T120000Z-1f2e3d",
        kind=kind,
        created="2026-11-30T12:00:00Z",
        command=command if kind == "run" else ("coldsoak", "bench", "matmul"),
        machine=MACHINE,
        arms=arms or (Arm(name="command", argv=command),),
        series=tuple(series),
        launches=tuple(launches),
        complete=True,
        **fields,
    )
    return replace(result, summaries=summarise(result))


def region(name, order=0, label="time_matmul (demo.py:8-11)", **case):
    place = Site(file="demo.py", line=8, function="time_matmul")
    suffix = "".join(f" {key}={value}" for key, value in case.items())
    return Series(id=name, kind="clock", label=label + suffix, start=place, case=case, order=order)


def traced_ledger(launch, scale=1.0, **fields):
    """Return a ledger of a 443 ms run 0 with everything that a row can show."""

    stretch = random.Random(launch)

    def line(cause, ms, steady=0.0, **evidence):
        return Line(
            cause=cause,
            ns=round(ms * scale * stretch.uniform(0.95, 1.05) * MS),
            steady_ns=steady * MS,
            evidence=Evidence(**evidence),
        )

    kernel = Item(label="ampere_sgemm_128x64_nn_with_a_name_longer_than_a_line", ns=38 * MS)
    lines = (
        line(
            Cause.LAZY_KERNEL_LOAD, 212, count=12, items=(kernel, Item(label="memset", ns=9 * MS))
        ),
        line(Cause.LIBRARY_HANDLE, 131, count=118, sampled=True, sources=("samples",)),
        line(
            Cause.MODULE_LOAD,
            64,
            count=5,
            bytes=48 << 20,
            items=(Item(label="libcublas", ns=51 * MS),),
        ),
        line(Cause.HOST_TO_DEVICE, 2.8, count=1, bytes=4 << 20),
        line(Cause.KERNEL_LAUNCH, 1.6, 0.4, count=10),
        line(Cause.DEVICE_COMPUTE, 1.1, 0.6, count=10),
        line(Cause.PYTHON_GC, 0.9),
        line(Cause.UNATTRIBUTED, 19),
    )
    own = 12 * MS
    total = sum(item.ns for item in lines) + own
    base = Ledger(
        scope="region",
        arm="command",
        launch=launch,
        series="gpu",
        start_ns=0,
        end_ns=total,
        total_ns=total,
        measurement_ns=own,
        steady_total_ns=1.0 * MS,
        steady_runs=9,
        lines=lines,
    )
    return replace(base, **fields)


@pytest.fixture
def two_devices():
    """The loop of ten products on two devices, with three traced launches."""
    make = Builder()
    runs = {"gpu": [443, *[1.0] * 9], "cpu": [100, *[96] * 9]}
    launches = [make.launch(i, runs, before=2100) for i in range(11)]
    sources = (
        SourceState(name="cupti", state="on"),
        SourceState(name="perf", state="off", reason="perf_event_open refused"),
    )
    launches += [
        make.launch(i, runs, before=2300, kind="traced", sources=sources) for i in (11, 12, 13)
    ]
    series = (region("gpu", device="'GPU:0'"), region("cpu", 1, device="'CPU:0'"))
    ledgers = tuple(traced_ledger(11 + i, scale) for i, scale in enumerate((1.0, 1.04, 1.07)))
    return finish(launches, series, ledgers=ledgers)


@pytest.fixture
def one_region():
    """One loop, 30 runs, with a child compiler."""
    make = Builder()
    child = Child(
        pid=77,
        ppid=4003,
        argv=("/usr/bin/g++", "-O3", "-shared", "kernel.cpp", "-o", "kernel.so"),
        start_ns=1200 * MS,
        end_ns=2900 * MS,
        cpu_s=1.62,
        exit_code=0,
        why="not Python",
    )
    launches = [
        make.launch(i, {"step": [1840, 2.1, *[1.43] * 28]}, children=(child,)) for i in range(11)
    ]
    return finish(launches, [region("step", label="step (train.py:40-44)")])


@pytest.fixture
def sweep():
    """Six shapes on two devices in three launches, each region once: no later run."""
    make = Builder()
    sizes = {50: 2820, 100: 170, 500: 180, 1000: 200, 10_000: 28_360, 15_000: 93_730}
    runs, series = {}, []
    for device, factor in (("/device:CPU:0", 0.2), ("/device:XLA_GPU:0", 1.0)):
        for size, ms in sizes.items():
            name = f"{device}{size}"
            runs[name] = [ms * factor]
            series.append(
                region(
                    name,
                    len(series),
                    label="sweep.py:14-17",
                    device=repr(device),
                    shape=f"({size}, {size})",
                )
            )
    launches = [make.launch(i, runs) for i in range(4)]
    return finish(launches, series, options=Options(launches=3))


@pytest.fixture
def no_region():
    """A program that reads no clock."""
    make = Builder()
    note = Note(code="no-clock", text="The program reads no clock.")
    return finish([make.launch(i, {}, notes=(note,)) for i in range(11)])


@pytest.fixture
def failing():
    """Every launch fails in the same way."""
    tail = ("Traceback (most recent call last):", "ModuleNotFoundError: No module named 'jax'")
    make = Builder()
    launches = [
        make.launch(i, {}, status="failed", exit_code=1, tail=tail, processes=()) for i in range(3)
    ]
    return finish(launches)


@pytest.fixture
def asynchronous():
    """The program stops its clock while the device still works."""
    make = Builder()
    runs = {"step": [120, *[0.2] * 9]}
    launches = [make.launch(i, runs) for i in range(9)]
    for index in (9, 10, 11):
        synced = make.launch(index, runs, kind="synced")
        done = tuple(replace(e, ready_ns=e.end_ns + round(0.42 * MS)) for e in synced.executions)
        launches.append(replace(synced, executions=done))
    result = finish(launches, [region("step", label="step (train.py:40-44)")])
    return replace(result, findings=tuple(async_timing.find(View(result))))


@pytest.fixture
def bench():
    """Three frameworks on one device; one of them computes something else."""
    make = Builder()
    arms, launches = [], []
    table = (
        ("numpy", "", 52.0, 17.0, 180),
        ("torch", "", 71.0, 16.1, 1900),
        ("torch", "inductor", 5400.0, 12.0, 2300),
        ("jax", "jit", 184.0, 15.0, 900),
    )
    for framework, compiler, first, later, before in table:
        name = "-".join(filter(None, (framework, compiler, "cpu", "1000")))
        case = Case(
            workload="matmul",
            framework=framework,
            device="cpu",
            compiler=compiler,
            shape={"m": 1000, "n": 1000, "k": 1000},
            inner=10,
            flops=2e10,
        )
        arms.append(Arm(name=name, argv=("python", "-m", "worker"), case=case))
        runs = {"bench": [first, *[later] * 25]}
        launches += [
            make.launch(
                i,
                runs,
                before=before,
                arm=name,
            )
            for i in range(11)
        ]
    series = [Series(id="bench", kind="bench", label="bench", order=0)]
    note = Note(code="checksum_differs", text="jax-jit-cpu-1000: mean 4.1 against 4.2 in numpy")
    return finish(launches, series, kind="bench", arms=tuple(arms), notes=(note,))


@pytest.fixture
def bench_card():
    """One framework in two modes on the CPU and on a card, with ledgers of the card's arms."""
    make = Builder()
    arms, launches, ledgers = [], [], []
    table = (
        ("eager", "cpu", 100.0, 96.0, 1900),
        ("eager", "gpu:0", 443.0, 1.0, 2300),
        ("compile", "cpu", 5400.0, 90.0, 2300),
        ("compile", "gpu:0", 9100.0, 0.8, 2700),
    )
    for compiler, device, first, later, before in table:
        name = f"torch {compiler} {device} n=1000"
        case = Case(
            workload="matmul",
            framework="torch",
            device=device,
            compiler=compiler,
            shape={"n": 1000},
            inner=10,
            flops=2e10,
        )
        arms.append(Arm(name=name, argv=("python", "worker.py"), case=case))
        runs = {"run": [first, *[later] * 25]}
        mine = [make.launch(i, runs, before=before, arm=name) for i in range(11)]
        traced = make.launch(900 + len(arms), runs, arm=name, kind="traced")
        launches += [*mine, replace(traced, round=1)]
        if device != "cpu":
            ledgers.append(traced_ledger(traced.index, first / 443, arm=name, series="run"))
    series = [Series(id="run", kind="bench", label="run", order=0)]
    return finish(launches, series, kind="bench", arms=tuple(arms), ledgers=tuple(ledgers))
