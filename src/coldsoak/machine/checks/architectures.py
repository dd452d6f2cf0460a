"""Device code of the installed libraries against the cards."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.machine.checks.base import Verdict
from coldsoak.machine.checks.fatbin import DeviceCode, device_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject

__all__ = ["Architectures"]

_SMALLEST = 1 << 16
"""Libraries below this size are not looked into."""


@dataclass(frozen=True, kw_only=True)
class Code:
    """What was found, and for which cards it must do."""

    libraries: tuple[DeviceCode, ...]
    capabilities: tuple[int, ...]
    complete: bool = True


class Architectures:
    """Machine code for this card in the installed libraries.

    A library without machine code for the card brings PTX at best, which the driver compiles at
    first use: seconds to half an hour, in each process where its cache does not work. Without
    either the library cannot run there.
    """

    code = "device-code"
    group: Group = "graphics card"

    def read(self, subject: Subject) -> Code:
        """Read the headers of the shared libraries of the frameworks, within the time allowed."""
        deadline = time.monotonic() + subject.seconds
        found, complete = [], True
        for file in _libraries(subject):
            left = deadline - time.monotonic()
            if left <= 0:
                complete = False
                break
            code = device_code(str(file), seconds=left)
            if code is not None:
                found.append(code)
        texts = (card.capability.replace(".", "") for card in subject.cards.cards)
        capabilities = tuple(sorted({int(text) for text in texts if text.isdigit()}))
        return Code(libraries=tuple(found), capabilities=capabilities, complete=complete)

    def judge(self, seen: Code) -> Iterator[Verdict]:
        """Sort the libraries by how each card would run them."""
        if not seen.libraries:
            return
        if not seen.capabilities:
            archs = sorted(set().union(*(one.machine for one in seen.libraries)))
            yield Verdict(
                code=self.code,
                state="unknown",
                what=f"{len(seen.libraries)} libraries bring machine code for {_names(archs)}; "
                "no card says what it needs.",
            )
        for capability in seen.capabilities:
            yield from self._of_card(seen, capability)

    def _of_card(self, seen: Code, capability: int) -> Iterator[Verdict]:
        ways: dict[str, list[DeviceCode]] = {"machine": [], "ptx": [], "none": []}
        for one in seen.libraries:
            if one.complete or one.runs_on(capability) == "machine":
                ways[one.runs_on(capability)].append(one)
        for one in sorted(ways["ptx"], key=lambda code: -code.size):
            yield Verdict(
                code=self.code,
                state="bad",
                what=f"{Path(one.file).name} has no machine code for sm_{capability}, only PTX.",
                why="The driver compiles it at first use, which takes seconds to minutes.",
                do=f"Install a build for sm_{capability}, and keep CUDA_CACHE_PATH on a disk that stays.",
            )
        for one in sorted(ways["none"], key=lambda code: -code.size):
            yield Verdict(
                code=self.code,
                state="warn",
                what=f"{Path(one.file).name} has no code that sm_{capability} can run "
                f"(it has {_names(sorted(one.machine))}).",
                why="If the program calls it, it fails with “no kernel image”.",
                do=f"Install a build for sm_{capability}.",
            )
        if ways["machine"] and not ways["ptx"] and not ways["none"]:
            rest = "" if seen.complete else " (not all libraries could be read in time)"
            count = len(ways["machine"])
            what = f"All {count} libraries with device code have it for sm_{capability}{rest}."
            yield Verdict(code=self.code, state="ok", what=what)


def _names(archs: list[int]) -> str:
    return ", ".join(f"sm_{arch}" for arch in archs) or "no architecture"


def _libraries(subject: Subject) -> list[Path]:
    """Return the shared libraries of the frameworks, largest first: device code is bulky."""
    sizes: dict[Path, int] = {}
    for folder in subject.python.packages.values():
        for file in Path(folder).rglob("*.so*"):
            try:
                real = file.resolve()
                size = real.stat().st_size
            except OSError:
                continue
            if size >= _SMALLEST:
                sizes[real] = size
    return sorted(sizes, key=lambda file: -sizes[file])
