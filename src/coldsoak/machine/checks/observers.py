"""Whether a traced launch would see what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.inject.coldsoak_agent.cuda import INJECTIONS, find_cupti
from coldsoak.machine.checks.base import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["Cupti", "Perf"]


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """What the kernel said."""

    allowed: bool
    paranoid: str


class Perf:
    """Host samples by perf_event_open(2).

    Traced launches sample every thread once in a millisecond of CPU time. Where the kernel refuses
    that, threads are watched through /proc from outside: causes inside libraries are then not told
    apart.
    """

    code = "perf"
    group: Group = "tracing"

    def read(self, subject: Subject) -> Kernel:
        """Try to open a counter of nothing, and close it."""
        file = subject.root / "proc/sys/kernel/perf_event_paranoid"
        try:
            paranoid = file.read_text(encoding="ascii").strip()
        except OSError:
            paranoid = ""
        return Kernel(allowed=subject.perf(), paranoid=paranoid)

    def judge(self, seen: Kernel) -> Iterator[Verdict]:
        """Expect to be allowed."""
        level = f" (perf_event_paranoid is {seen.paranoid})" if seen.paranoid else ""
        if seen.allowed:
            yield Verdict(code=self.code, state="ok", what=f"Host samples can be taken{level}.")
            return
        yield Verdict(
            code=self.code,
            state="warn",
            what=f"The kernel refuses perf_event_open{level}.",
            why="Time inside libraries is seen from outside only, so more stays unattributed.",
            do="sudo sysctl kernel.perf_event_paranoid=1, or --cap-add PERFMON for a container",
        )


@dataclass(frozen=True, kw_only=True)
class Tracer:
    """What stands for and against CUDA records."""

    cards: int
    library: str
    injected: str = ""
    """A variable that loads another tool into CUDA programs."""


class Cupti:
    """CUDA records by CUPTI.

    Calls of the driver, kernels, copies and compilations of a traced launch come from CUPTI, which
    CUDA builds of the frameworks bring along. It serves one tool at a time.
    """

    code = "cupti"
    group: Group = "tracing"

    def read(self, subject: Subject) -> Tracer:
        """Look for the library and for other tools."""
        taken = (name for name in INJECTIONS if subject.environment.get(name))
        return Tracer(
            cards=len(subject.cards.cards),
            library=find_cupti(subject.python.path, subject.environment) or "",
            injected=next(taken, ""),
        )

    def judge(self, seen: Tracer) -> Iterator[Verdict]:
        """Expect the library where there is a card."""
        if not seen.cards:
            yield Verdict(
                code=self.code, state="ok", what="Without a card no CUDA records are needed."
            )
        elif seen.injected:
            yield Verdict(
                code=self.code,
                state="bad",
                what=f"{seen.injected} loads another tool into CUDA programs.",
                why="CUPTI serves one tool at a time: traced launches see no CUDA records.",
                do=f"unset {seen.injected}",
            )
        elif not seen.library:
            yield Verdict(
                code=self.code,
                state="bad",
                what="No libcupti is found for this interpreter.",
                why="Traced launches see no CUDA records.",
                do="pip install 'coldsoak[cuda13]' (or cuda12) for the interpreter of the command",
            )
        else:
            yield Verdict(code=self.code, state="ok", what=f"CUDA records: {seen.library}.")
