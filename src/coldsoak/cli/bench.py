"""``coldsoak bench``: the same question for a known workload."""

from __future__ import annotations

from typing import Annotated

import typer

from coldsoak.cli import options as opt

__all__ = ["bench"]

Some = list[str] | None


def bench(
    workload: Annotated[
        str,
        typer.Argument(metavar="WORKLOAD", help="matmul, conv2d, elementwise, mlp, attention."),
    ] = "matmul",
    *,
    framework: Annotated[
        Some, typer.Option(metavar="NAME", help="Framework; else all installed ones. Repeatable.")
    ] = None,
    mode: Annotated[
        Some, typer.Option(metavar="MODE", help="eager, graph, xla, compile, … Repeatable.")
    ] = None,
    device: Annotated[
        Some, typer.Option(metavar="NAME", help="cpu, gpu:0, …; else those found. Repeatable.")
    ] = None,
    shape: Annotated[
        str, typer.Option(metavar="N[,N…]", help="Sizes, or named ones: size=56,batch=4;size=112.")
    ] = "100,1000",
    dtype: Annotated[str, typer.Option(metavar="TYPE", help="Element type.")] = "float32",
    inner: Annotated[
        int, typer.Option(min=1, metavar="N", help="Repetitions that make one run.")
    ] = 10,
    runs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs in one launch; else 20 to 200.")
    ] = None,
    steady: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time for later runs in one launch.")
    ] = 1.0,
    warm_shapes: Annotated[
        bool, typer.Option("--warm-shapes", help="Run all shapes in one process.")
    ] = False,
    naive: Annotated[
        bool, typer.Option("--naive", help="Stop the clock without waiting for the device.")
    ] = False,
    python: Annotated[
        str, typer.Option(metavar="FILE", help="Interpreter to measure; this one by default.")
    ] = "",
    launches: opt.Launches = None,
    budget: opt.Budget = 90.0,
    target: opt.Target = 0.05,
    cold: opt.Cold = "process",
    timeout: opt.Timeout = 600.0,
    no_trace: opt.NoTrace = False,
    source_off: opt.SourceOff = None,
    json: opt.Json = None,
    perfetto: opt.Perfetto = None,
    force: opt.Force = False,
) -> None:
    """Measure the first run of WORKLOAD: frameworks, modes, devices and shapes side by side."""
    from coldsoak.cli.measuring import Outputs, answer
    from coldsoak.plans import plan, split_shapes

    options = opt.to_options(
        launches=launches,
        budget=budget,
        timeout=timeout,
        cold=cold,
        target=target,
        no_trace=no_trace,
        source_off=source_off,
    )
    made = plan(
        workload,
        frameworks=framework or (),
        devices=device or (),
        compilers=mode or (),
        shapes=split_shapes(shape),
        dtype=dtype,
        inner=inner,
        runs=runs,
        steady_s=steady,
        naive=naive,
        warm_shapes=warm_shapes,
        python=python,
    )
    outputs = Outputs(json=json, perfetto=perfetto, force=force)
    command = ("bench", workload)
    status = answer(made.arms, options, outputs, kind="bench", command=command, notes=made.notes)
    raise typer.Exit(status)
