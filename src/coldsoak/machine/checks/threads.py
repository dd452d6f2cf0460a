"""Sizes of thread pools against the cores that may be used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.machine import host
from coldsoak.machine.checks.base import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["VARIABLES", "Threads"]

VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"),
)
"""Variables that set the size of a pool of compute threads."""


@dataclass(frozen=True, kw_only=True)
class Pools:
    """What the environment asks for."""

    cores: float
    asked: Mapping[str, str]


class Threads:
    """Compute threads per core.

    More compute threads than cores wait for each other inside every parallel loop, spinning. On two
    busy cores a product that takes 0.3 ms on one thread took 11 to 20 ms on two, in every run.
    """

    code = "compute-threads"
    group: Group = "environment"

    def read(self, subject: Subject) -> Pools:
        """Read the variables of the command."""
        asked = {
            name: subject.environment[name] for name in VARIABLES if name in subject.environment
        }
        return Pools(cores=host.cores_usable(subject.root), asked=asked)

    def judge(self, seen: Pools) -> Iterator[Verdict]:
        """Expect no pool larger than the cores that may be used."""
        fit = max(math.floor(seen.cores), 1)
        wrong = False
        for name, text in seen.asked.items():
            first = text.split(",")[0].strip()
            if not first.isdigit() or int(first) == 0:
                wrong = True
                yield Verdict(
                    code=self.code,
                    state="warn",
                    what=f"{name}={text} is not a number of threads.",
                    why="Libraries ignore it or warn, and use a thread for each visible core.",
                    do=f"export {name}={fit}",
                )
            elif int(first) > seen.cores:
                wrong = True
                yield Verdict(
                    code=self.code,
                    state="bad",
                    what=f"{name}={text} asks for more threads than the {seen.cores:g} usable cores.",
                    why="The threads take turns and wait for each other in every parallel loop.",
                    do=f"export {name}={fit}",
                )
        if not wrong:
            said = ", ".join(f"{name}={text}" for name, text in seen.asked.items())
            what = (
                f"{said} fits {seen.cores:g} cores."
                if said
                else "No variable sets compute threads."
            )
            yield Verdict(code=self.code, state="ok", what=what)
