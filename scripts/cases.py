"""Reported cases of slow first runs, each made by a script of our own: what does the tool say?

    python scripts/cases.py [--gpu] [--only K30,K74] [--launches N]    # measures, writes docs/cases/*.json
    python scripts/cases.py --render                                   # docs/cases.md from them

Each case (``tests/victims/cases``) is measured as it is and once more with ``VICTIM_WITHOUT=1``, which
takes the reason away: the negative control, in which the case's findings must not appear.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldsoak.model.result import Result

ROOT = Path(__file__).resolve().parent.parent
VICTIMS = ROOT / "tests" / "victims" / "cases"
DATA = ROOT / "docs" / "cases"


def finding(code: str, *words: str) -> Callable[[Result], str]:
    """Return a reader of one finding: its text, when all ``words`` are in it, else nothing."""

    def read(result: Result) -> str:
        for one in result.findings:
            said = " ".join((one.title, one.text, *one.evidence, *one.advice))
            if one.code == code and all(word in said for word in words):
                return f"`{code}`: {one.text}"
        return ""

    return read


def cause(name: str, *, least_ms: float = 1.0, whole: bool = False) -> Callable[[Result], str]:
    """Return a reader of the largest figure that a cause has in a region, or before the first result."""

    def read(result: Result) -> str:
        found = [
            (line.ns / 1e6, ledger)
            for ledger in result.ledgers
            if (ledger.scope != "region") == whole
            for line in ledger.lines
            if str(line.cause) == name
        ]
        ms, ledger = max(found, key=lambda pair: pair[0], default=(0.0, None))
        if ledger is None or ms < least_ms:
            return ""
        labels = {series.id: series.label for series in result.series}
        return f"{name} {ms:,.1f} ms of {ledger.total_ns / 1e6:,.1f} ms in {labels.get(ledger.series, ledger.scope)}"

    return read


def shapes(name: str) -> Callable[[Result], str]:
    """Return a reader of what a cause takes in the first run of each case of a region."""

    def read(result: Result) -> str:
        cases = {s.id: " ".join(f"{k}={v}" for k, v in s.case.items()) for s in result.series}
        found = {
            cases[ledger.series]: line.ns / 1e6
            for ledger in result.ledgers
            if ledger.scope == "region" and cases.get(ledger.series)
            for line in ledger.lines
            if str(line.cause) == name and line.ns > 50_000
        }
        return ", ".join(f"{case} {ms:.2f} ms" for case, ms in found.items())

    return read


def event(source: str, *names: str) -> Callable[[Result], str]:
    """Return a reader of how often the last traced launch saw a framework's event."""

    def read(result: Result) -> str:
        facts = [launch.facts for launch in result.launches if launch.facts]
        counts = {
            e.name: e.count
            for e in (facts[-1].events if facts else ())
            if e.source == source and e.name in names
        }
        return ", ".join(f"{count} × {source} {name}" for name, count in sorted(counts.items()))

    return read


def silent(*codes: str) -> Callable[[Result], str]:
    """Return a reader that is content when none of the findings is there."""

    def read(result: Result) -> str:
        return "" if {f.code for f in result.findings} & set(codes) else f"no {' or '.join(codes)}"

    return read


def note(word: str) -> Callable[[Result], str]:
    """Return a reader of what a source or a note says."""

    def read(result: Result) -> str:
        texts = [s.reason for launch in result.launches for s in launch.sources]
        texts += [n.text for launch in result.launches for n in launch.notes]
        return next((text for text in texts if word in text), "")

    return read


@dataclass(frozen=True, kw_only=True)
class Case:
    """One reported case and what a correct tool says of it."""

    id: str
    script: str
    story: str
    should: tuple[tuple[str, Callable[[Result], str]], ...]
    """What must be said, each with its reader."""
    absent: tuple[str, ...] = ()
    """Findings that must not be there without the reason."""
    quiet: tuple[Callable[[Result], str], ...] = ()
    """Readers that must find nothing without the reason: for a cause that has no finding."""
    options: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    gpu: bool = False


CASES = (
    Case(id="K16", script="compile_cached.py", story="A warm compile cache is still slower than eager",
         should=(("hits of the caches", event("torch", "fx_graph_cache_hit", "autograd_cache_hit", "fxgraph_cache_hit")),
                 ("tracing that remains", cause("trace")), ("look-ups that remain", cause("cache_lookup")),
                 ("imports that remain", cause("import_python"))),
         absent=("recompiles", "import-inside-region")),
    Case(id="K19", script="compile_imports.py", story="Seconds of imports inside torch.compile",
         should=(("imports, at the decorator", finding("import-inside-region", "torch")),
                 ("that it moves and does not go away", lambda r: next((f.settle for f in r.findings if f.code == "import-inside-region"), ""))),
         absent=("import-inside-region",)),
    Case(id="K26", script="shared_cache.py", story="Processes trip over one empty cache",
         should=(("compilations of the same key", finding("cache-stampede")),), absent=("cache-stampede",)),
    Case(id="K28", script="cache_set_late.py", story="A cache that is set too late is ignored (mended in JAX)",
         should=(("nothing, on a current version", silent("cache-configured-but-missed")), ("hits", event("jax", "cache_hits"))),
         absent=("cache-configured-but-missed",)),
    Case(id="K29", script="cache_hit_remainder.py", story="A third remains after a cache hit",
         should=(("hits", event("jax", "cache_hits")), ("tracing and lowering that remain", cause("trace", least_ms=20)),
                 ("reading the cache", cause("cache_lookup", least_ms=0.1))),
         absent=("cache-configured-but-missed",)),
    Case(id="K30", script="weak_type.py", story="Compiles twice for the same shape",
         should=(("the function and the differing attribute", finding("recompiles", "advance", "weak_type")),),
         absent=("recompiles",), env=(("JAX_EXPLAIN_CACHE_MISSES", "1"),)),
    Case(id="K44", script="bf16_products.py", story="A small matrix product takes 50 ms",
         should=(("code generation, in ms", cause("compile", least_ms=0.2)), ("shape by shape", shapes("compile"))),
         quiet=(cause("compile", least_ms=0.2),)),
    Case(id="K47", script="cold_import.py", story="Import 20 s on the first container of a VM",
         should=(("reading from storage, with bytes", finding("disk-cold", "were read")),), absent=("disk-cold",)),
    Case(id="K51", script="lazy_weights.py", story="“Model loaded in 0.98 s”, first token 15.5 s",
         should=(("reads inside the first use", finding("disk-cold", "weights")),), absent=("disk-cold",)),
    Case(id="K57", script="third_batch.py", story="Every third batch is slow",
         should=(("a period of three", finding("periodic", "3")),), absent=("periodic",)),
    Case(id="K74", script="wrong_line.py", story="The wait is charged to the wrong line",
         should=(("asynchronous timing", finding("async-timing")),), absent=("async-timing",)),
    Case(id="K75", script="same_shape.py", story="“Is it caching my results?”",
         should=(("the cost follows the shape", finding("per-shape-first-run")),), absent=("per-shape-first-run",)),
    Case(id="K01", script="gpu_ptx.py", story="Two minutes in the first `.cuda()`", gpu=True,
         should=(("PTX compiled, for which card", finding("ptx-jit", "sm_")), ("its seconds", cause("ptx_jit"))), absent=("ptx-jit",)),
    Case(id="K05", script="gpu_own_ptx_cache.py", story="A program's own kernel cache makes the driver compile again", gpu=True,
         should=(("PTX compiled although nothing is kept", finding("ptx-jit", "CUDA_CACHE_DISABLE")),), absent=("ptx-jit",),
         env=(("CUDA_CACHE_DISABLE", "1"),)),
    Case(id="K09", script="gpu_threads.py", story="Every newly used worker pays again", gpu=True,
         should=(("per thread, or no cost here", lambda r: finding("per-thread-first-run")(r) or silent("per-thread-first-run")(r)),),
         absent=("per-thread-first-run",)),
    Case(id="K10", script="gpu_benchmark_sizes.py", story="`cudnn.benchmark` with varying sizes", gpu=True,
         should=(("each size anew", finding("per-shape-first-run")), ("the search", cause("algorithm_search"))), absent=()),
    Case(id="K22", script="gpu_triton_autotune.py", story="Autotune repeated in every process", gpu=True,
         should=(("the search in each process", finding("autotune-each-process")),), absent=("autotune-each-process",)),
    Case(id="K25", script="gpu_triton_first.py", story="The first Triton kernel of the process takes a second", gpu=True,
         should=(("Triton's compiling", cause("compile")),), absent=()),
    Case(id="K36", script="gpu_profiler.py", story="Profiling slows what comes after", gpu=True,
         should=(("the collision, and the run goes on", note("profiler")),), absent=()),
    Case(id="K54", script="gpu_import_pool.py", story="Importing takes 61 GB of the GPU", gpu=True,
         should=(("the pool with its bytes", finding("pool-reserved", "GiB")),), absent=("pool-reserved",)),
    Case(id="K63", script="gpu_short_warm_up.py", story="The 25 ms warm-up is too short", gpu=True,
         should=(("where the steady state begins", lambda r: next((f"steady from run {s.steady_start[0]}" for x in r.summaries for s in x.series if s.steady_start), "")),),
         absent=()),
    Case(id="K72", script="gpu_first_launches.py", story="First launches very long since CUDA 12", gpu=True,
         should=(("loading at first launch", cause("lazy_kernel_load")),), absent=()),
)  # fmt: skip


def measure(case: Case, *, without: bool, launches: int) -> Result:
    """Run the tool on a case as a user would, in caches of the case's own."""
    import msgspec

    from coldsoak.model.result import Result

    with tempfile.TemporaryDirectory(prefix="coldsoak-case-") as folder:
        env = {
            **os.environ,
            "COLDSOAK_HOME": f"{folder}/home",
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
            "TRITON_CACHE_DIR": f"{folder}/triton",
            "TMPDIR": folder,
            **dict(case.env),
        }
        env.pop("VICTIM_WITHOUT", None)
        if without:
            env["VICTIM_WITHOUT"] = "1"
        target = Path(folder) / "result.json"
        words = ["run", "--launches", str(launches), "--json", str(target), *case.options]
        done = subprocess.run(
            [sys.executable, "-m", "coldsoak", *words, "--", sys.executable, str(VICTIMS / case.script)],
            check=False, capture_output=True, text=True, env=env,
        )  # fmt: skip
        if not target.exists():
            raise RuntimeError(f"{case.id}: {done.stderr[-2000:]}")
        return msgspec.json.decode(target.read_bytes(), type=Result)


def judge(case: Case, launches: int) -> dict[str, object]:
    """Measure a case and its control, and read what is said of both."""
    from coldsoak import __version__

    found, control = (measure(case, without=w, launches=launches) for w in (False, True))
    said = [{"should": words, "says": read(found)} for words, read in case.should]
    false = sorted({f.code for f in control.findings} & set(case.absent))
    return {
        "id": case.id,
        "said": said,
        "findings": sorted({f.code for f in found.findings}),
        "false_in_control": false,
        "heard_in_control": [says for read in case.quiet if (says := read(control))],
        "control_findings": sorted({f.code for f in control.findings}),
        "date": date.today().isoformat(),  # noqa: DTZ011
        "version": __version__,
        "machine": ", ".join(
            [found.machine.cpu, *(d.name for d in found.machine.devices if d.kind == "gpu")]
        ),
        "launches": launches,
    }


def _control(case: Case, row: dict[str, list[str]]) -> str:
    """Return what the control said of what the case is about; a dash where it was not asked."""
    if not case.absent and not (case.quiet and "heard_in_control" in row):
        return "–"
    heard = [*row["false_in_control"], *row.get("heard_in_control", ())]
    return f"**{', '.join(heard)}**" if heard else "silent"


def render() -> str:
    """Return the page from what was measured."""
    lines = [
        "# Reported cases",
        "",
        "Slow first runs that people have reported, each made by a script of our own in",
        "`tests/victims/cases`, and what coldsoak says of it. Written by `scripts/cases.py`. A case that",
        "is not said, or a finding in the control (the same script without the reason), is a gap and is",
        "shown as one.",
        "",
        "| case | what was reported | a correct tool says | coldsoak says | control |",
        "|---|---|---|---|---|",
    ]
    open_cases = []
    for case in CASES:
        file = DATA / f"{case.id}.json"
        if not file.exists():
            open_cases.append(case.id)
            continue
        row = json.loads(file.read_text(encoding="utf-8"))
        control = _control(case, row)
        for number, one in enumerate(row["said"]):
            says = one["says"].replace("|", "\\|") or "**not yet**"
            head = (f"{case.id} `{case.script}`", case.story) if number == 0 else ("", "")
            lines.append(
                f"| {head[0]} | {head[1]} | {one['should']} | {says} | {control if number == 0 else ''} |"
            )
    machines: dict[str, list[str]] = {}
    for file in sorted(DATA.glob("K*.json")):
        row = json.loads(file.read_text(encoding="utf-8"))
        machines.setdefault(f"{row['machine']}, {row['date']}", []).append(row["id"])
    lines += ["", *(f"{', '.join(ids)}: {place}." for place, ids in machines.items())]
    if open_cases:
        lines += ["", f"Written and not yet measured: {', '.join(open_cases)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the chosen cases, or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--gpu", action="store_true", help="the cases for a card in place of the others"
    )
    parser.add_argument("--only", default="", help="ids, joined by commas")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--render", action="store_true", help="only write docs/cases.md")
    given = parser.parse_args()
    only = set(filter(None, given.only.split(",")))
    DATA.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        if given.render or (case.id not in only if only else case.gpu != given.gpu):
            continue
        try:
            row = judge(case, given.launches)
        except RuntimeError as error:
            print(error, flush=True)
            continue
        (DATA / f"{case.id}.json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
        missing = [one["should"] for one in row["said"] if not one["says"]]
        print(
            case.id,
            "not said:" if missing else "said",
            *missing,
            [*row["false_in_control"], *row["heard_in_control"]] or "",
            flush=True,
        )
    (ROOT / "docs" / "cases.md").write_text(render(), encoding="utf-8")
    for rest in ("coldsoak-case-k28", "coldsoak-case-k29", "coldsoak-case-k47"):
        shutil.rmtree(Path(tempfile.gettempdir()) / rest, ignore_errors=True)


if __name__ == "__main__":
    main()
