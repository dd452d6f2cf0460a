"""``bench`` is ``run`` of coldsoak's own worker: this makes the commands, and compares the results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from coldsoak import backends, workloads
from coldsoak.backends.base import parse_device
from coldsoak.backends.report import parse_report
from coldsoak.errors import UsageError
from coldsoak.machine import devices as machine_devices
from coldsoak.machine import nvml
from coldsoak.model.base import Frozen
from coldsoak.model.result import Arm, Case, Launch, Note, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from coldsoak.workloads import Workload

__all__ = [
    "DEFAULT_SHAPES",
    "WORKER",
    "Plan",
    "check",
    "plan",
    "split_shapes",
    "void",
]

WORKER = Path(backends.__file__).with_name("worker.py")
"""The program of a launch; it is started by its path, so that any interpreter can run it."""

DEFAULT_SHAPES = ("100", "1000")

_STEADY_S = 5.0
_ROUND_S = 20.0
"""Seconds of later runs in one launch, and in one launch of every arm."""


class Plan(Frozen, kw_only=True):
    """What to measure, and what the user should hear about the choice."""

    arms: tuple[Arm, ...]
    notes: tuple[Note, ...] = ()


def plan(
    workload: str = "matmul",
    *,
    frameworks: Sequence[str] = (),
    devices: Sequence[str] = (),
    compilers: Sequence[str] = (),
    shapes: Sequence[str] = DEFAULT_SHAPES,
    dtype: str = "float32",
    inner: int = 10,
    runs: int | None = None,
    steady_s: float | None = None,
    naive: bool = False,
    warm_shapes: bool = False,
    python: str = "",
) -> Plan:
    """Return one arm for each framework, compiler, device and shape.

    Args:
        workload: Name of the workload.
        frameworks: Names, as several texts or joined by commas, as ``devices`` and ``compilers``;
            empty for all that the interpreter has.
        devices: ``cpu``, ``gpu``, ``cuda:1``, ``/GPU:0``, …; empty for the first GPU and the CPU,
            as far as each framework sees them (they are asked only on a machine with a card).
        compilers: Modes such as ``eager`` and ``xla``; a framework takes those that it has. Empty
            for the first of each framework.
        shapes: As ``Workload.at`` takes them; see :func:`split_shapes`.
        dtype: Element type.
        inner: Products in a run.
        runs: Runs in a launch, the first included; None for 20 to 200 within ``steady_s``.
        steady_s: Seconds of later runs to spend in a launch; None for 5, or less when there are so
            many arms that one round of them all would spend more than 20.
        naive: End each run without waiting for the device, and note when it was done.
        warm_shapes: All shapes in one process, so that only the first meets a cold process.
        python: Interpreter to measure; empty for this one.

    Raises:
        UsageError: Something named does not exist, or no framework is left.

    """
    python = python or sys.executable
    cls = workloads.get(workload)
    if not shapes:
        raise UsageError("No shape is given.", do=f"--shape {','.join(DEFAULT_SHAPES)}")
    cases = [cls.at(shape, dtype=dtype, inner=inner) for shape in shapes]
    groups = [tuple(cases)] if warm_shapes else [(case,) for case in cases]
    present = _installed(python)
    chosen = _with_dtype(_split(frameworks) or present, dtype, python)
    _check_compilers(chosen, _split(compilers))
    places, failures = _places(chosen, _split(devices), python)
    ways = [
        {"framework": framework, "compiler": compiler, "device": device}
        for framework in chosen
        for compiler in _compilers(framework, _split(compilers))
        for device in places[framework]
    ]
    if not ways:
        raise UsageError(
            "Nothing is left to measure.",
            why="; ".join(note.text for note in failures)
            or f"{_and(chosen)} {'does' if len(chosen) == 1 else 'do'} not compute on {_and(devices)}.",
            do="`coldsoak devices` lists what each framework sees.",
        )
    if steady_s is None:
        steady_s = min(_STEADY_S, _ROUND_S / (len(ways) * len(groups)))
    request = {"workload": workload, "dtype": dtype, "inner": inner, "runs": runs}
    request |= {"steady_s": steady_s, "naive": naive}
    program = (python, str(WORKER))
    arms = tuple(_arm(program, {**request, **way}, group) for group in groups for way in ways)
    return Plan(arms=arms, notes=(*failures, *(() if frameworks else _missing(present))))


def split_shapes(text: str) -> tuple[str, ...]:
    """Return the shapes in a command line: ``50,100`` is two, ``size=56,batch=4;size=112`` too."""
    if "=" in text:
        return tuple(part.strip() for part in text.split(";") if part.strip())
    return tuple(part.strip() for part in text.replace(";", ",").split(",") if part.strip())


def _split(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for name in names for part in name.split(",") if part.strip())


def _missing(present: Sequence[str]) -> tuple[Note, ...]:
    return tuple(
        Note(
            code="framework_missing", text=f"{name} is not installed: {backends.get(name).install}"
        )
        for name in backends.names()
        if name not in present
    )


def _installed(python: str) -> tuple[str, ...]:
    if python == sys.executable:
        return backends.installed()
    argv = [python, str(WORKER), json.dumps({"task": "installed", "framework": ""})]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"The interpreter {python} cannot be run.",
            why=str(error),
            do="Give --python the path of a Python 3.9 or later.",
        ) from None
    report = parse_report(done.stdout)
    if "installed" not in report:
        raise UsageError(
            f"The interpreter {python} cannot run the bench worker.",
            why=(done.stderr.strip().splitlines() or ["It printed nothing."])[-1],
            do="Give --python the path of a Python 3.9 or later.",
        )
    return tuple(report["installed"])


def _with_dtype(frameworks: Sequence[str], dtype: str, python: str) -> tuple[str, ...]:
    """Return the frameworks that compute in ``dtype``."""
    if not frameworks:
        raise UsageError(
            "There is no framework to measure.",
            why=f"None of {', '.join(backends.names())} is installed for {python}.",
            do="Type: pip install 'coldsoak[demo]'",
        )
    able = tuple(name for name in frameworks if dtype in backends.get(name).dtypes)
    if not able:
        known = {dtype: None for name in frameworks for dtype in backends.get(name).dtypes}
        raise UsageError(
            f"{', '.join(frameworks)} cannot be measured with the dtype {dtype!r}.",
            do=f"Use --dtype {' or '.join(known)}.",
        )
    return able


def _compilers(framework: str, wanted: Sequence[str]) -> tuple[str, ...]:
    known = backends.get(framework).compilers
    if not wanted:
        return known[:1]
    return tuple(compiler for compiler in wanted if compiler in known)


def _check_compilers(frameworks: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise for a mode that no framework has at all, and when the chosen ones have none of them."""
    known = {name: backends.get(name).compilers for name in frameworks}
    anywhere = {mode for name in backends.names() for mode in backends.get(name).compilers}
    anywhere |= {mode for modes in known.values() for mode in modes}
    missing = [mode for mode in wanted if mode not in anywhere]
    if not missing and not any(mode in modes for mode in wanted for modes in known.values()):
        missing = list(wanted)
    if missing:
        raise UsageError(
            f"{_and(frameworks)} {'has' if len(frameworks) == 1 else 'have'} no mode {missing[0]}.",
            why="; ".join(f"{name}: {', '.join(modes)}" for name, modes in known.items()),
            do=f"--mode {next(iter(known.values()))[-1]}",
        )


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))


def _places(
    frameworks: Sequence[str], devices: Sequence[str], python: str
) -> tuple[Mapping[str, tuple[str, ...]], tuple[Note, ...]]:
    """Return the devices to measure for each framework, in coldsoak's own spelling, and notes."""
    cards = nvml.read()
    if devices or not cards.cards:
        wanted = tuple(map(_canonical, devices or ("cpu",)))
        if not cards.cards and all(_kind(device) == "gpu" for device in wanted):
            _check_gpu_is_seen(frameworks, python, cards.reason)
        return {name: _possible(name, wanted) for name in frameworks}, ()
    asked = machine_devices.survey(frameworks, python=python).frameworks
    places = {
        seen.name: tuple(
            "cpu" if kind == "cpu" else "gpu:0"
            for kind in ("gpu", "cpu")
            if any(device.kind == kind for device in seen.devices)
        )
        for seen in asked
    }
    notes = tuple(
        Note(code="framework_failed", text=f"{seen.name} is left out: {seen.error}")
        for seen in asked
        if seen.state != "ok"
    )
    return places, notes


def _check_gpu_is_seen(frameworks: Sequence[str], python: str, reason: str) -> None:
    """Raise when no framework sees a GPU: each would fail in a launch of its own."""
    able = [name for name in frameworks if "gpu" in backends.get(name).kinds]
    seen = machine_devices.survey(able, python=python).frameworks if able else ()
    if able and not any(device.kind == "gpu" for one in seen for device in one.devices):
        raise UsageError(f"{_and(able)} {'sees' if len(able) == 1 else 'see'} no GPU.", why=reason)


def _possible(framework: str, devices: Sequence[str]) -> tuple[str, ...]:
    """Return ``devices`` without those of a kind that the framework never has."""
    kinds = ("", *backends.get(framework).kinds)
    return tuple(device for device in devices if _kind(device) in kinds)


def _canonical(device: str) -> str:
    """Return ``cpu`` or ``gpu:1`` for any framework's spelling; plug-ins may have other names."""
    parsed = parse_device(device)
    if parsed is None:
        return device
    kind, index = parsed
    return kind if kind == "cpu" and index == 0 else f"{kind}:{index}"


def _arm(program: tuple[str, str], request: Mapping[str, Any], cases: Sequence[Workload]) -> Arm:
    case = cases[0]
    framework, compiler, device = (request[key] for key in ("framework", "compiler", "device"))
    asked = {**request, "shapes": [dict(one.dims) for one in cases]}
    alone = len(cases) == 1
    label = "+".join(one.label() for one in cases)
    return Arm(
        name=f"{framework} {compiler} {device} {label}",
        argv=(*program, json.dumps(asked)),
        case=Case(
            workload=case.name,
            framework=framework,
            device=device,
            compiler=compiler,
            shape=dict(case.dims) if alone else {},
            dtype=case.dtype,
            inner=case.inner,
            flops=case.flops if alone else 0.0,
            bytes_moved=case.bytes_moved if alone else 0.0,
        ),
    )


def check(result: Result) -> tuple[Note, ...]:
    """Return a note for each arm whose numbers cannot be compared with the other arms'.

    ``checksum_differs``: it computed something else than the largest group of arms that agree, or
    than the only other one. ``other_device``: its output lay on another kind of device than asked.
    The text begins with the name of the arm.
    """
    return tuple(Note(code=code, text=f"{arm}: {why}") for arm, code, why in _faults(result))


def void(result: Result) -> Result:
    """Return ``result`` with the launches of the arms that :func:`check` names marked invalid."""
    reasons = {arm: f"{code}: {why}" for arm, code, why in _faults(result)}
    launches = tuple(
        replace(launch, invalid=reasons[launch.arm])
        if launch.arm in reasons and not launch.invalid
        else launch
        for launch in result.launches
    )
    return replace(result, launches=launches)


def _faults(result: Result) -> Iterator[tuple[str, str, str]]:
    groups: dict[tuple[Any, ...], dict[str, Mapping[str, float]]] = defaultdict(dict)
    for arm in result.arms:
        launch = _first_report(result, arm.name)
        if arm.case is None or launch is None:
            continue
        asked, used = arm.case.device, str(launch.data.get("location", ""))
        if _kind(asked) and _kind(used) and _kind(asked) != _kind(used):
            yield arm.name, "other_device", f"the output was on {used}, asked was {asked}"
        case = arm.case
        key = (case.workload, tuple(sorted(case.shape.items())), case.dtype)
        groups[key][arm.name] = launch.data["outputs"]
    for (workload, _, dtype), outputs in groups.items():
        tolerance = workloads.get(workload).tolerance[dtype]
        for arm_name, why in _outvoted(outputs, tolerance):
            yield arm_name, "checksum_differs", why


def _outvoted(
    outputs: Mapping[str, Mapping[str, float]], tolerance: float
) -> Iterator[tuple[str, str]]:
    """Yield the arms that disagree with the one with which most others agree, and how."""
    agreeing = {
        name: sum(not workloads.agree(mine, other, tolerance) for other in outputs.values())
        for name, mine in outputs.items()
    }
    best = max(agreeing, key=lambda name: agreeing[name])
    undecided = len(outputs) > 1 and agreeing[best] == 1
    for name, mine in outputs.items():
        rival = next((other for other in outputs if other != name), best) if undecided else best
        different = workloads.agree(mine, outputs[rival], tolerance)
        if different:
            numbers = ", ".join(
                f"{key} {a:.7g} against {b:.7g}" for key, (a, b) in different.items()
            )
            yield name, f"{numbers} in {rival} (tolerance {tolerance:g})"


def _first_report(result: Result, arm: str) -> Launch | None:
    mine = (launch for launch in result.launches if launch.arm == arm)
    return next((launch for launch in mine if isinstance(launch.data.get("outputs"), dict)), None)


def _kind(device: str) -> str:
    parsed = parse_device(device)
    return parsed[0] if parsed else ""
