"""A saved result: what was asked, what was run, and every single observation."""

from __future__ import annotations

from typing import Any, Literal

from coldsoak.model.base import Count, Frozen
from coldsoak.model.estimate import Estimate, Ratio
from coldsoak.model.facts import Facts
from coldsoak.model.finding import Finding
from coldsoak.model.ledger import Ledger
from coldsoak.model.recipe import Recipe, Trial

__all__ = [
    "FORMAT",
    "Arm",
    "Case",
    "Child",
    "Conditions",
    "Device",
    "Execution",
    "ImportCost",
    "Launch",
    "LaunchKind",
    "LaunchStatus",
    "Machine",
    "Note",
    "Options",
    "Process",
    "Result",
    "Series",
    "SeriesSummary",
    "Site",
    "SourceState",
    "StoppedBy",
    "Stretch",
    "Summary",
]

FORMAT = 1
"""Version of the file. Format history: 1 (2026-11) the first."""


class Site(Frozen, kw_only=True):
    """A place in the user's source."""

    file: str
    line: int
    function: str = "<module>"


class Series(Frozen, kw_only=True):
    """The executions of one region: the same two places, reached the same way, with the same case.

    The id is stable across launches: a hash of the kind, the places, the stack and the case.
    """

    id: str
    kind: Literal["clock", "declared", "timeit", "bench", "neighbours"]
    label: str
    """Short name for people: ``time_matmul (script.py:8-11) device='/GPU:0'``."""
    start: Site | None = None
    end: Site | None = None
    stack: tuple[Site, ...] = ()
    case: dict[str, str] = {}
    clock: str = ""
    order: int = 0
    """Rank of its first execution among all series, in program order."""


class Execution(Frozen, kw_only=True):
    """One execution of a region; times in ns since the launch was spawned."""

    series: str
    run: int
    """0 for the first execution of the series in this launch, counted over all its processes."""
    pid: int
    thread: int
    start_ns: int
    end_ns: int
    """Never before ``start_ns``, as ``ready_ns``."""
    seconds: float
    """What the program's own clock said, in seconds, per loop for timeit."""
    ready_ns: int | None = None
    """When queued device work was done; None when not measured."""
    rerun: int = 0
    """Which execution of the script in this process (``--rerun``)."""

    @property
    def wall(self) -> float:
        """Wall time in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


class ImportCost(Frozen, kw_only=True):
    """A top-level package's imports in one process."""

    package: str
    modules: int
    self_ns: Count
    """Spent in this package's own modules."""
    cumulative_ns: int
    """From the first import statement of it, other packages that it pulled in included."""
    compile_ns: int
    """Part of ``self_ns`` spent compiling source for want of bytecode."""
    gc_ns: int
    """Part of ``self_ns`` spent in the garbage collector."""


class Stretch(Frozen, kw_only=True):
    """A piece of a process's life; the stretches of a process add up to its wall time."""

    kind: Literal["start", "agent", "import", "script", "region", "between", "exit"]
    name: str
    ns: Count


class Child(Frozen, kw_only=True):
    """A process of the tree that the agent could not enter, or that ran beside it."""

    pid: int
    ppid: int
    argv: tuple[str, ...]
    start_ns: int
    end_ns: int | None
    cpu_s: float | None = None
    exit_code: int | None = None
    why: str = ""
    """Why there is no agent in it: not Python, isolated interpreter, PYTHONPATH removed."""


class Process(Frozen, kw_only=True):
    """One interpreter of the launch's process tree that carried the agent."""

    pid: int
    ppid: int
    argv: tuple[str, ...]
    how: str
    python: str
    executable: str
    start_ns: int
    """Relative to the spawn of the launch, as all ``_ns`` moments of a result."""
    ready_ns: int
    """The interpreter ran its first Python line (the agent's)."""
    agent_ns: int
    """Duration of the agent's start, booked as measurement."""
    main_start_ns: int | None = None
    main_end_ns: int | None = None
    exit_ns: int | None = None
    """Last thing that atexit ran."""
    end_ns: int | None = None
    complete: bool = True
    """False when the process died before it could write all it had."""
    stretches: tuple[Stretch, ...] = ()
    imports: tuple[ImportCost, ...] = ()
    measurement_ns: int = 0
    """All time that the agent admits to have taken, its start included."""


class Conditions(Frozen, kw_only=True):
    """The machine around one launch."""

    load_before: float | None = None
    """Load average of the minute before."""
    foreign_cpu: float | None = None
    """CPU time of others during the launch over wall time and cores, 0 to 1."""
    steal: float | None = None
    """Share of the CPU time that the hypervisor gave to others, 0 to 1."""
    throttled: float | None = None
    """Share of the cgroup's periods in which its quota was used up, 0 to 1."""
    gpu_foreign_pids: tuple[int, ...] = ()
    gpu: tuple[dict[str, Any], ...] = ()
    """Per visible GPU: clocks (MHz), temperature (°C), power (W), throttle reasons, at start and end."""


class SourceState(Frozen, kw_only=True):
    """Whether a source of evidence was on, and why not."""

    name: str
    state: Literal["on", "off", "lost"]
    reason: str = ""
    cost_ns: int = 0
    """The source's own time, over all processes, in nanoseconds."""
    lost: int = 0
    """Records that it could not keep."""


class Note(Frozen, kw_only=True):
    """Something the user should hear about the measurement itself."""

    code: str
    text: str


LaunchKind = Literal["timed", "traced", "synced"]
LaunchStatus = Literal["ok", "failed", "killed", "timeout", "interrupted", "not started"]
StoppedBy = Literal["target", "budget", "maximum", "fixed", "interrupted", "failure"]
"""What ended the launches of an arm."""


class Launch(Frozen, kw_only=True):
    """One fresh process of the command, with everything observed in it."""

    index: int
    round: int
    """0 is discarded from every statistic."""
    arm: str
    kind: LaunchKind
    position: int = 0
    """Place inside its round, for the order effect."""
    status: LaunchStatus = "ok"
    exit_code: int | None = None
    signal: int | None = None
    ended_by: str = "exit"
    """exit | region | port | http | log | timeout: which end condition was met."""
    invalid: str = ""
    """Why the launch is excluded and replaced; empty for a valid one."""
    started: str = ""
    """UTC, ISO 8601."""
    wall_ns: Count = 0
    """Spawn to exit of the main process, or to the end condition."""
    until_ns: Count | None = None
    """Spawn to the end condition when it is not exit."""
    peak_rss: int | None = None
    """Peak resident memory of the largest process of the tree, in bytes."""
    processes: tuple[Process, ...] = ()
    children: tuple[Child, ...] = ()
    executions: tuple[Execution, ...] = ()
    conditions: Conditions = Conditions()
    sources: tuple[SourceState, ...] = ()
    notes: tuple[Note, ...] = ()
    log: str = ""
    """Path of the launch's output, relative to the result's folder."""
    trace: str = ""
    """Path of the launch's trace, relative to the result's folder; empty for timed launches."""
    tail: tuple[str, ...] = ()
    """Last lines of the output, kept when the launch failed."""
    data: dict[str, Any] = {}
    """What a bench worker reported: seconds of runs and steps, checksum, device, versions."""
    facts: Facts | None = None
    """Of a traced launch: what findings need of its trace."""


class Case(Frozen, kw_only=True):
    """What one arm of a bench computes."""

    workload: str
    framework: str
    device: str
    compiler: str = ""
    shape: dict[str, int] = {}
    dtype: str = "float32"
    inner: int = 1
    flops: float = 0.0
    """Floating-point operations of one run."""
    bytes_moved: float = 0.0
    """Bytes that one run must read and write at the least."""


class Arm(Frozen, kw_only=True):
    """A command with the changes that tell it from the other arms."""

    name: str
    argv: tuple[str, ...]
    cwd: str = ""
    env: dict[str, str | None] = {}
    """Variables set (or removed, None) on top of the caller's environment."""
    case: Case | None = None


class Options(Frozen, kw_only=True):
    """What the user asked for, after defaults."""

    launches: int | None = None
    budget_s: float = 60.0
    timeout_s: float = 600.0
    cold: tuple[str, ...] = ("process",)
    until: str = "exit"
    rerun: int = 1
    tf1: bool = False
    trace: bool = True
    target: float = 0.05
    """Relative half-width of the interval at which looks stop."""
    seed: int = 0
    sources_off: tuple[str, ...] = ()


class Device(Frozen, kw_only=True):
    """A device as the driver or the operating system sees it."""

    kind: Literal["cpu", "gpu"]
    name: str
    index: int = 0
    uuid: str = ""
    pci: str = ""
    memory_bytes: int | None = None
    info: dict[str, Any] = {}


class Machine(Frozen, kw_only=True):
    """Where the result was measured."""

    hostname: str = ""
    system: str = ""
    cpu: str = ""
    cores: int = 0
    cores_usable: float = 0.0
    """Cores that this process may use: affinity and cgroup quota."""
    memory_bytes: int = 0
    virtual: str = ""
    devices: tuple[Device, ...] = ()
    driver: str = ""
    cuda: str = ""
    python: str = ""
    versions: dict[str, str] = {}


class SeriesSummary(Frozen, kw_only=True):
    """One series over the valid timed launches of one arm."""

    series: str
    arm: str
    launches: int
    runs: tuple[int, int, int]
    """Executions per launch: minimum, median, maximum."""
    first: Estimate
    """Run 0, seconds of wall time."""
    later: Estimate | None = None
    """Per launch the median of runs 1..; None when there is one run."""
    steady: Estimate | None = None
    steady_class: str = "not assessed"
    """Common class of ≥ 80 % of the launches, or ``inconsistent``."""
    steady_counts: dict[str, int] = {}
    steady_start: tuple[int, ...] = ()
    """Median, minimum and maximum of the first steady run."""
    overhead: Estimate | None = None
    """Cold overhead: runs 0..s-1 minus s × steady, paired inside each launch."""
    ratio: Estimate | None = None
    """Run 0 over steady (or over the later median), paired inside each launch."""
    ready: Estimate | None = None
    """Run 0 until queued device work was done, from synced launches."""
    ready_later: Estimate | None = None


class Summary(Frozen, kw_only=True):
    """Everything computed from the launches of one arm."""

    arm: str
    n: int
    discarded: int
    invalid: int
    failed: int
    stopped_by: StoppedBy = "fixed"
    wall: Estimate | None = None
    first_result: Estimate | None = None
    """Time to first result: spawn to the end of the region that ends first."""
    phases: dict[str, Estimate] = {}
    imports: dict[str, Estimate] = {}
    series: tuple[SeriesSummary, ...] = ()
    order_effect: Estimate | None = None
    trend: float | None = None
    """Theil-Sen slope of run 0 over rounds, seconds a round."""
    notes: tuple[Note, ...] = ()
    """What the statistics themselves warn about: drift, order, a first launch that differs."""


class Result(Frozen, kw_only=True):
    """The file. Everything that a report shows is computed from it."""

    format: int = FORMAT
    version: str
    """Of coldsoak."""
    id: str
    kind: Literal["run", "bench", "fix"]
    created: str
    command: tuple[str, ...] = ()
    options: Options = Options()
    machine: Machine = Machine()
    environment: dict[str, str] = {}
    arms: tuple[Arm, ...] = ()
    series: tuple[Series, ...] = ()
    launches: tuple[Launch, ...] = ()
    complete: bool = False
    """False while it is being measured, and after an interruption."""
    summaries: tuple[Summary, ...] = ()
    ledgers: tuple[Ledger, ...] = ()
    findings: tuple[Finding, ...] = ()
    sources: dict[str, str] = {}
    """Texts of the user's own files that read clocks, for findings to quote."""
    comparisons: dict[str, Ratio] = {}
    """Of a fix: each arm against the baseline, by arm name."""
    trials: tuple[Trial, ...] = ()
    recipe: Recipe | None = None
    """Of a fix: what was proved; None when nothing helped."""
    recipe_file: str = ""
    """Where the recipe was written, an absolute path; empty when it was not."""
    notes: tuple[Note, ...] = ()
