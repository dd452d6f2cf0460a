"""All checks, in the order in which they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coldsoak.machine.checks import (
    architectures,
    bytecode,
    folders,
    gpu,
    host,
    observers,
    residency,
    threads,
    variables,
)
from coldsoak.machine.checks.base import GROUPS, Check, Group, State, Verdict, text_of
from coldsoak.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.machine.checks.subject import Subject

__all__ = ["CHECKS", "Examination", "Section", "document", "examine"]

CHECKS: tuple[Check[Any], ...] = (
    host.Load(),
    host.Quota(),
    host.Governor(),
    host.OpenFiles(),
    host.Container(),
    gpu.Present(),
    gpu.Persistence(),
    gpu.Clocks(),
    gpu.Neighbours(),
    gpu.ComputeMode(),
    gpu.Mig(),
    gpu.DriverVersion(),
    architectures.Architectures(),
    bytecode.Bytecode(),
    residency.Residency(),
    folders.Caches(),
    variables.Variables(),
    threads.Threads(),
    observers.Perf(),
    observers.Cupti(),
)

_RANK: dict[State, int] = {"bad": 0, "warn": 1, "unknown": 2, "ok": 3}


class Section(Frozen, kw_only=True):
    """The verdicts of one group, worst first."""

    group: Group
    verdicts: tuple[Verdict, ...]


class Examination(Frozen, kw_only=True):
    """Everything that ``coldsoak doctor`` says."""

    interpreter: str
    """Whose packages were looked at."""
    python: str
    sections: tuple[Section, ...]

    def count(self, state: State) -> int:
        """Return how many verdicts are in ``state``."""
        return sum(one.state == state for section in self.sections for one in section.verdicts)


def examine(subject: Subject) -> Examination:
    """Make every check; one that fails says so and stops no other."""
    found: dict[Group, list[Verdict]] = {group: [] for group in GROUPS}
    if subject.python.error:
        found["interpreter"].append(
            Verdict(
                code="interpreter",
                state="unknown",
                what=f"{subject.python.executable} did not answer: {subject.python.error}.",
                why="Its packages, bytecode and libraries were not looked at.",
            )
        )
    for check in CHECKS:
        found[check.group] += _made(check, subject)
    sections = (
        Section(group=group, verdicts=tuple(sorted(all_, key=lambda one: _RANK[one.state])))
        for group, all_ in found.items()
        if all_
    )
    return Examination(
        interpreter=subject.python.executable,
        python=subject.python.version,
        sections=tuple(sorted(sections, key=lambda one: _RANK[one.verdicts[0].state])),
    )


def _made(check: Check[Any], subject: Subject) -> list[Verdict]:
    try:
        return list(check.judge(check.read(subject)))
    except Exception as error:  # noqa: BLE001 (whatever a machine answers, the other checks count)
        what = f"This could not be looked at: {error}."
        return [Verdict(code=check.code, state="unknown", what=what)]


def document() -> Iterator[str]:
    """Yield the lines of the list of checks in ``docs/doctor.md``."""
    for group in GROUPS:
        yield f"## {group.capitalize()}"
        yield ""
        for check in CHECKS:
            if check.group == group:
                title, _, text = text_of(check).partition("\n")
                yield f"**`{check.code}`: {title.rstrip('.')}.** {' '.join(text.split())}"
                yield ""
