"""The graphics cards: state of the driver, of the clocks, and who else is there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldsoak.machine.checks.base import Verdict
from coldsoak.machine.nvml import slowdowns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coldsoak.machine.checks.base import Group
    from coldsoak.machine.checks.subject import Subject
    from coldsoak.machine.nvml import Card, Cards

__all__ = ["Clocks", "ComputeMode", "DriverVersion", "Mig", "Neighbours", "Persistence", "Present"]

_GPU_BUILDS = ("cuda-runtime", "cupy-cuda", "jax-cuda")


class _OfCards:
    """A check of each card; says nothing where there is none."""

    group: Group = "graphics card"

    def read(self, subject: Subject) -> tuple[Card, ...]:
        """Return the cards as NVML listed them."""
        return subject.cards.cards


@dataclass(frozen=True, kw_only=True)
class Sight:
    """The cards, and whether something here expects one."""

    cards: Cards
    expecting: tuple[str, ...]
    visible: str | None


class Present:
    """Whether a card is there, and how many a process sets up.

    The driver looks at every visible card when a process initialises it: eight cards took 0.39 s
    instead of 0.08 s in one report. A process that uses one card need not see the others.
    """

    code = "cards"
    group: Group = "graphics card"

    def read(self, subject: Subject) -> Sight:
        """Return the cards, installed GPU builds and ``CUDA_VISIBLE_DEVICES``."""
        names = subject.python.versions
        expecting = tuple(sorted(n for n in names if any(mark in n for mark in _GPU_BUILDS)))
        return Sight(
            cards=subject.cards,
            expecting=expecting,
            visible=subject.environment.get("CUDA_VISIBLE_DEVICES"),
        )

    def judge(self, seen: Sight) -> Iterator[Verdict]:
        """Expect a card where GPU builds are installed, and one visible card rather than many."""
        count = len(seen.cards.cards)
        if not count:
            yield Verdict(
                code=self.code,
                state="warn" if seen.expecting else "ok",
                what=f"No NVIDIA card is seen. {seen.cards.reason}".strip(),
                why=f"{seen.expecting[0]} is installed and cannot be used."
                if seen.expecting
                else "",
                do="nvidia-smi" if seen.expecting else "",
            )
        elif count > 1 and seen.visible is None:
            yield Verdict(
                code="many-visible-gpus",
                state="warn",
                what=f"All {count} cards are visible to the command.",
                why="The driver sets up each visible card in each process, one after the other.",
                do="export CUDA_VISIBLE_DEVICES=0 if the program uses one card",
            )
        else:
            names = ", ".join(dict.fromkeys(card.name for card in seen.cards.cards))
            what = f"{count} card{'s' * (count > 1)}: {names}, driver {seen.cards.driver}."
            yield Verdict(code=self.code, state="ok", what=what)


class Persistence(_OfCards):
    """Whether the driver stays loaded between processes.

    Without persistence mode the driver is torn down when the last process leaves a card, and set up
    anew by the next: one to three seconds a card that the first CUDA call seems to cost.
    """

    code = "persistence-off"

    def judge(self, seen: tuple[Card, ...]) -> Iterator[Verdict]:
        """Expect persistence mode; a card in use is held open anyway."""
        off = [card for card in seen if card.persistence is False]
        for card in off:
            yield Verdict(
                code=self.code,
                state="warn" if card.users else "bad",
                what=f"Persistence mode is off on card {card.index} ({card.name}).",
                why="The first process after a pause pays for the driver's set-up of the card.",
                do=f"sudo nvidia-smi -i {card.index} -pm 1",
            )
        if seen and not off:
            known = all(card.persistence for card in seen)
            what = "Persistence mode is on." if known else "The driver does not tell."
            yield Verdict(code=self.code, state="ok" if known else "unknown", what=what)


class Mig(_OfCards):
    """Slices of a card (MIG).

    A slice has its own share of processors and memory, so its figures are not those of the card;
    a process can use one slice only, and must be told which.
    """

    code = "mig"

    def judge(self, seen: tuple[Card, ...]) -> Iterator[Verdict]:
        """Tell which cards are sliced."""
        for card in seen:
            if not card.mig:
                continue
            slices = len(card.mig_uuids)
            yield Verdict(
                code=self.code,
                state="warn" if slices else "bad",
                what=f"Card {card.index} is in MIG mode with {slices} slices.",
                why="A process sees one slice of it."
                if slices
                else "Without a slice no program can use it.",
                do=f"export CUDA_VISIBLE_DEVICES={card.mig_uuids[0]}"
                if slices
                else "sudo nvidia-smi mig -cgi 0 -C",
            )
        if seen and not any(card.mig for card in seen):
            yield Verdict(code=self.code, state="ok", what="No card is sliced (MIG is off).")


class ComputeMode(_OfCards):
    """How many processes may use a card.

    In exclusive mode a second process fails; a traced program that starts others may need two.
    """

    code = "compute-mode"

    def judge(self, seen: tuple[Card, ...]) -> Iterator[Verdict]:
        """Expect the default mode."""
        odd = [card for card in seen if card.compute_mode not in {"", "default"}]
        for card in odd:
            prohibited = card.compute_mode == "prohibited"
            yield Verdict(
                code=self.code,
                state="bad" if prohibited else "warn",
                what=f"Card {card.index} is in compute mode “{card.compute_mode}”.",
                why="No program can use it."
                if prohibited
                else "A second process on the card fails, child processes too.",
                do=f"sudo nvidia-smi -i {card.index} -c DEFAULT",
            )
        if seen and not odd:
            yield Verdict(
                code=self.code, state="ok", what="Any number of processes may use a card."
            )


class Neighbours(_OfCards):
    """Other processes on the card.

    They take memory and time on the device, and launches beside them are thrown away and repeated.
    """

    code = "card-in-use"

    def judge(self, seen: tuple[Card, ...]) -> Iterator[Verdict]:
        """Name the processes with a compute context."""
        used = [card for card in seen if card.users]
        for card in used:
            names = ", ".join(f"{user.name or 'process'} ({user.pid})" for user in card.users[:3])
            size = f", {card.used_bytes / 2**30:.1f} GiB in use" if card.used_bytes else ""
            yield Verdict(
                code=self.code,
                state="bad",
                what=f"Card {card.index} is used by {names}{size}.",
                why="Launches with another process on the card do not count.",
                do=f"End it, or choose another card: ps -p {card.users[0].pid}",
            )
        if seen and not used:
            yield Verdict(code=self.code, state="ok", what="No other process is on a card.")


class Clocks(_OfCards):
    """Clocks that are held down.

    Heat and power limits lower the clocks of a busy card. An idle card is slow too, but speeds up
    within milliseconds of work.
    """

    code = "gpu-clocks"

    def judge(self, seen: tuple[Card, ...]) -> Iterator[Verdict]:
        """Expect no slowdown; idle clocks are told, not blamed."""
        slow = [card for card in seen if slowdowns(card.slowdown)]
        for card in slow:
            reasons = ", ".join(slowdowns(card.slowdown))
            heat = f" at {card.temperature_c} °C" if card.temperature_c is not None else ""
            yield Verdict(
                code=self.code,
                state="bad",
                what=f"Card {card.index} is slowed down: {reasons}{heat}.",
                why="Launches in which this happens do not count.",
                do="nvidia-smi -q -d PERFORMANCE,TEMPERATURE",
            )
        if seen and not slow:
            clocks = ", ".join(
                f"{card.sm_mhz} of {card.sm_max_mhz} MHz" for card in seen if card.sm_max_mhz
            )
            what = f"No card is slowed down{f'; clocks {clocks}' if clocks else ''}."
            yield Verdict(code=self.code, state="ok", what=what)


@dataclass(frozen=True, kw_only=True)
class Versions:
    """CUDA of the driver and of the installed builds."""

    driver: str
    builds: Mapping[str, str]


class DriverVersion:
    """The driver's CUDA against the frameworks'.

    A build for a newer major version does not start. With an older minor version it starts, but
    PTX from the newer compiler is refused.
    """

    code = "driver-version"
    group: Group = "graphics card"

    def read(self, subject: Subject) -> Versions:
        """Collect CUDA versions from the installed distributions."""
        return Versions(driver=subject.cards.cuda, builds=dict(_builds(subject.python.versions)))

    def judge(self, seen: Versions) -> Iterator[Verdict]:
        """Compare (major, minor)."""
        if not seen.driver or not seen.builds:
            return
        driver = _pair(seen.driver)
        newer = {name: text for name, text in seen.builds.items() if _pair(text) > driver}
        for name, text in newer.items():
            major = _pair(text)[0] > driver[0]
            yield Verdict(
                code=self.code,
                state="bad" if major else "warn",
                what=f"{name} is built for CUDA {text}; the driver supports {seen.driver}.",
                why="It cannot use the card." if major else "PTX that it brings cannot be used.",
                do="Update the driver, or install a build for an older CUDA.",
            )
        if not newer:
            what = f"The driver's CUDA {seen.driver} covers the installed builds."
            yield Verdict(code=self.code, state="ok", what=what)


_LOCAL = re.compile(r"\+cu(\d+)(\d)$")
_NAMED = re.compile(r"^(?:cupy-cuda|jax-cuda)(\d+)")


def _builds(versions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, version in sorted(versions.items()):
        if match := _LOCAL.search(version):
            yield name, f"{match[1]}.{match[2]}"
        elif match := _NAMED.match(name):
            yield name, f"{match[1]}.0"
        elif "cuda-runtime" in name:
            yield name, ".".join(version.split(".")[:2])


def _pair(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major or 0), int(minor or 0) if minor.isdigit() else 0
