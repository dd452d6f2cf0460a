"""What of the frameworks' libraries is in memory already."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.machine.checks.base import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["Residency", "Resident"]

_LARGE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Resident:
    """Shared libraries of one package."""

    package: str
    resident: int
    total: int
    """Bytes."""


class Residency:
    """The page cache.

    The first process after a start of the machine, or on a fresh container image, reads hundreds of
    megabytes from storage; later ones find them in memory. Whether they are there decides which
    first run one measures. ``--cold disk`` makes the cold one.
    """

    code = "page-cache"
    group: Group = "interpreter"

    def read(self, subject: Subject) -> tuple[Resident, ...]:
        """Ask mincore(2) about the shared libraries of each framework, within the time allowed."""
        deadline = time.monotonic() + subject.seconds
        found = []
        for package, folder in sorted(subject.python.packages.items()):
            resident = total = 0
            for file in Path(folder).rglob("*.so*"):
                if time.monotonic() > deadline:
                    break
                if file.is_symlink() or not file.is_file() or file.stat().st_size < _LARGE:
                    continue
                there, size = subject.resident(str(file))
                resident, total = resident + there, total + size
            if total:
                found.append(Resident(package=package, resident=resident, total=total))
        return tuple(found)

    def judge(self, seen: tuple[Resident, ...]) -> Iterator[Verdict]:
        """Tell packages that are mostly on the disk; that is a state, not a mistake."""
        cold = [one for one in seen if one.resident < 0.02 * one.total]
        if not seen:
            return
        sizes = ", ".join(
            f"{one.package} {one.resident / 2**20:.0f} of {one.total / 2**20:.0f} MiB"
            for one in seen
        )
        if cold:
            yield Verdict(
                code=self.code,
                state="warn",
                what=f"In memory: {sizes}.",
                why=f"The next first run reads {cold[0].package} from storage; those after it do not.",
                do="coldsoak run --cold disk -- … measures that on purpose",
            )
        else:
            yield Verdict(code=self.code, state="ok", what=f"In memory: {sizes}.")
