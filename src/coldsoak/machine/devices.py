"""What each installed framework sees, each asked in a process of its own with a time limit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

import coldsoak
from coldsoak.backends.report import parse_report
from coldsoak.machine import host, nvml
from coldsoak.machine.identity import Physical, physical
from coldsoak.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Answer", "Framework", "Row", "Seen", "Survey", "answers", "rows", "survey"]

_PROBE = Path(coldsoak.__file__).with_name("backends") / "worker.py"
"""Started by its path, in whatever interpreter is asked about."""

_FEW = 3
"""Cards that are numbered alike are named together from so many on."""

_NUMBER = re.compile(r"\d+")

_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


class Seen(Frozen, kw_only=True):
    """A device under the name that one framework gives it."""

    name: str
    kind: Literal["cpu", "gpu"]
    index: int = 0
    description: str = ""
    uuid: str = ""
    pci: str = ""
    memory_bytes: int | None = None


class Framework(Frozen, kw_only=True):
    """One framework's answer."""

    name: str
    state: Literal["ok", "failed", "timeout"]
    seconds: float
    """How long the answer took, import included."""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    devices: tuple[Seen, ...] = ()
    error: str = ""


class Survey(Frozen, kw_only=True):
    """The devices of the machine and what the frameworks call them."""

    cpu: str
    cores: int
    cores_usable: float
    memory_bytes: int
    cards: nvml.Cards
    frameworks: tuple[Framework, ...] = ()
    missing: dict[str, str] = msgspec.field(default_factory=dict)
    """Frameworks that are not installed, with what brings them."""

    @property
    def devices(self) -> tuple[Physical, ...]:
        """Return the physical devices, each with all its names; the CPU is the last."""
        names = [(one.name, device) for one in self.frameworks for device in one.devices]
        return physical(self.cards.cards, names, cpu=self.cpu, memory_bytes=self.memory_bytes)


class Row(Frozen, kw_only=True):
    """A physical device as texts, ready to print."""

    label: str
    """``GPU 0`` in NVML's order, or ``CPU``."""
    name: str
    memory: str
    pci: str
    remarks: tuple[str, ...] = ()
    """What may matter to a first run."""


class Answer(Frozen, kw_only=True):
    """A framework's answer as texts, ready to print."""

    framework: str
    version: str
    took: str
    sees: str
    """``GPU 0 as cuda:0, CPU as cpu``, or what went wrong."""


def survey(
    frameworks: Sequence[str],
    *,
    missing: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    python: str = "",
) -> Survey:
    """Ask every framework, two at a time.

    Args:
        frameworks: Names of installed backends.
        missing: Frameworks that are not installed, with what brings them; only passed on.
        timeout: Seconds after which a framework is given up; its processes are killed.
        python: Interpreter in which they are installed; empty for this one.

    """
    machine = host.describe()
    probes: set[subprocess.Popen[str]] = set()
    with ThreadPoolExecutor(max_workers=2) as pool:
        asked = [
            pool.submit(_ask, python or sys.executable, name, timeout, probes)
            for name in frameworks
        ]
        try:
            seen = tuple(one.result() for one in asked)
        except BaseException:  # Ctrl-C does not wait for the answers
            pool.shutdown(wait=False, cancel_futures=True)
            for probe in tuple(probes):
                _kill(probe)
            raise
    return Survey(
        cpu=machine.cpu,
        cores=machine.cores,
        cores_usable=machine.cores_usable,
        memory_bytes=machine.memory_bytes,
        cards=nvml.read(),
        frameworks=seen,
        missing=dict(missing or {}),
    )


def rows(survey: Survey) -> tuple[Row, ...]:
    """Return a row for each physical device."""
    by_uuid = {card.uuid: card for card in survey.cards.cards if card.uuid}
    return tuple(
        Row(
            label=label,
            name=device.name,
            memory=_gibibytes(device.memory_bytes),
            pci=device.pci,
            remarks=_remarks(by_uuid[device.uuid]) if device.uuid in by_uuid else (),
        )
        for label, device in _labelled(survey)
    )


def answers(survey: Survey) -> tuple[Answer, ...]:
    """Return a row for each framework: the names of the devices that it sees, or its failure."""
    labelled = _labelled(survey)
    return tuple(
        Answer(
            framework=one.name,
            version=next(iter(one.versions.values()), ""),
            took=f"{one.seconds:.1f} s",
            sees=one.error or _names(one.name, labelled) or "no device",
        )
        for one in survey.frameworks
    )


def _labelled(survey: Survey) -> list[tuple[str, Physical]]:
    devices = survey.devices
    return [
        ("CPU" if device.kind == "cpu" else f"GPU {index}", device)
        for index, device in enumerate(devices)
    ]


def _names(framework: str, labelled: Sequence[tuple[str, Physical]]) -> str:
    """Name the devices that a framework sees; cards that are numbered alike together."""
    seen = [
        (label, " and ".join(device.names[framework]))
        for label, device in labelled
        if framework in device.names
    ]
    told: list[str] = []
    while seen:
        count = _numbered_alike(seen)
        (label, name), (last, last_name) = seen[0], seen[count - 1]
        alone = count < _FEW
        told.append(f"{label} as {name}" if alone else f"{label} … {last} as {name} … {last_name}")
        seen = seen[1 if alone else count :]
    return ", ".join(told)


def _numbered_alike(seen: Sequence[tuple[str, str]]) -> int:
    """Return how many of the first are one series: GPU 0 as cuda:0, GPU 1 as cuda:1, …"""
    texts = [f"{label} as {name}" for label, name in seen]
    first = [int(number) for number in _NUMBER.findall(texts[0])]
    count = 1
    for text in texts[1:]:
        wanted = [str(number + count) for number in first]
        alike = _NUMBER.sub("#", text) == _NUMBER.sub("#", texts[0])
        if not first or not alike or _NUMBER.findall(text) != wanted:
            break
        count += 1
    return count


def _remarks(card: nvml.Card) -> tuple[str, ...]:
    said = []
    if card.persistence is False:
        said.append("persistence off: the first process pays for the driver's set-up of the card")
    if card.mig:
        count = len(card.mig_uuids)
        said.append(f"MIG on, {count} slice{'' if count == 1 else 's'}")
    if card.compute_mode not in ("", "default"):
        said.append(f"compute mode {card.compute_mode}")
    if card.used_bytes is not None and card.users:
        said.append(f"{_gibibytes(card.used_bytes)} in use")
    for user in card.users:
        size = f", {_gibibytes(user.memory_bytes)}" if user.memory_bytes else ""
        said.append(f"used by {user.name or 'a process'} (pid {user.pid}{size})")
    return tuple(said)


def _gibibytes(size: int | None) -> str:
    return "" if size is None else f"{size / 2**30:.1f} GiB"


def _ask(
    python: str, framework: str, timeout: float, probes: set[subprocess.Popen[str]]
) -> Framework:
    """Ask one framework; its process is among ``probes`` while it runs."""
    argv = [python, str(_PROBE), json.dumps({"task": "devices", "framework": framework})]
    start = time.monotonic()
    try:
        output, error = _communicate(argv, timeout, probes)
    except OSError as problem:
        return Framework(name=framework, state="failed", seconds=0.0, error=str(problem))
    except subprocess.TimeoutExpired:
        return Framework(
            name=framework,
            state="timeout",
            seconds=time.monotonic() - start,
            error=f"no answer within {timeout:g} s",
        )
    return _answer(framework, output, error, time.monotonic() - start)


def _communicate(
    argv: Sequence[str], timeout: float, probes: set[subprocess.Popen[str]]
) -> tuple[str, str]:
    """Return what the probe printed; whatever it started is ended with it."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **_QUIET},
        text=True,
        errors="replace",
        start_new_session=True,
    ) as probe:
        probes.add(probe)
        try:
            return probe.communicate(timeout=timeout)
        finally:
            probes.discard(probe)
            _kill(probe)


def _kill(probe: subprocess.Popen[str]) -> None:
    """End a probe that still runs, with all that it started."""
    if probe.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(probe.pid, signal.SIGKILL)


def _answer(framework: str, output: str, error: str, seconds: float) -> Framework:
    report = parse_report(output)
    if "devices" not in report:
        told = report.get("error", {})
        lines = error.strip().splitlines()
        why = told.get("what") or (lines[-1] if lines else "the probe printed nothing")
        return Framework(name=framework, state="failed", seconds=seconds, error=why)
    return Framework(
        name=framework,
        state="ok",
        seconds=seconds,
        versions=report["versions"],
        devices=tuple(Seen(**device) for device in report["devices"]),
    )
