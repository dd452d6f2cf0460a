"""Trials of remedies, and the file with those that were proved."""

from __future__ import annotations

from typing import Literal

from coldsoak.model.base import Frozen
from coldsoak.model.estimate import Estimate, Ratio

__all__ = [
    "RECIPE_FORMAT",
    "Fingerprint",
    "Goal",
    "Ingredient",
    "Numerics",
    "Preheat",
    "Recipe",
    "RemedyKind",
    "Trial",
]

RECIPE_FORMAT = 1

RemedyKind = Literal["avoid", "cache", "overlap", "shift", "share", "restore", "placebo"]
Goal = Literal["first-result", "first-region", "exit"]
Numerics = Literal["unchanged", "may change"]


class Trial(Frozen, kw_only=True):
    """What became of one remedy, tried or not."""

    remedy: str
    kind: RemedyKind
    title: str
    arm: str = ""
    """Name of the arm that had it; empty when it was not tried."""
    against: str = ""
    """Name of the arm that lacked it; empty for the unchanged command."""
    applies: bool = True
    why: str = ""
    """Why it was not tried, or what made it a candidate."""
    at_stake_s: float | None = None
    """Seconds of the causes that it addresses, in the diagnosis."""
    ratio: Ratio | None = None
    """With over without, for the goal."""
    saved: Estimate | None = None
    """Without minus with, in seconds, paired."""
    steady: Ratio | None = None
    """The steady state with over without."""
    took_effect: bool | None = None
    """None when there is no way to see it."""
    proof: str = ""
    outputs: Literal["equal", "differ", "not compared"] = "not compared"
    numerics: Numerics = "unchanged"
    memory_bytes: int | None = None
    """Peak resident memory with minus without."""
    break_even_runs: float | None = None
    """Runs after which a slower steady state has eaten the saving."""
    risks: tuple[str, ...] = ()
    in_recipe: bool = False


class Fingerprint(Frozen, kw_only=True):
    """Where a recipe was proved; a stage that does not fit is switched off, with a message."""

    python: str = ""
    machine: str = ""
    """platform.machine()"""
    cpu_flags: str = ""
    """Hash of the processor's feature flags."""
    driver: str = ""
    gpus: tuple[str, ...] = ()
    """Names of the cards, in order."""
    site: str = ""
    """The site-packages folder of the command's interpreter."""
    packages: dict[str, str] = {}
    """Versions of the packages that the remedies depend on, by distribution name."""


class Ingredient(Frozen, kw_only=True):
    """One proved remedy of a recipe."""

    remedy: str
    kind: RemedyKind
    title: str
    why: str = ""
    saved_s: float = 0.0
    saved_low_s: float | None = None
    saved_high_s: float | None = None
    pairs: int = 0
    numerics: Numerics = "unchanged"
    risks: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Variables it sets."""
    unset: tuple[str, ...] = ()
    """Variables it removes."""
    needs: tuple[str, ...] = ()
    """Packages of the fingerprint that it depends on."""


class Preheat(Frozen, kw_only=True):
    """What the agent does at the start of the process, while the program imports."""

    context: bool = False
    """Create the CUDA primary context on a thread, by the driver API alone."""
    device: int = 0
    """Ordinal of the device that the recorded run used."""
    blas: bool = False
    """Then make a cuBLAS handle and run one tiny product (libraries by path, opened without the GIL)."""
    libraries: tuple[str, ...] = ()
    """Paths of the libraries that ``blas`` opens, in order."""
    env_at_init: dict[str, str] = {}
    """CUDA variables that the recorded run had at cuInit; another value switches the stage off."""
    readahead: str = ""
    """File with recorded page ranges, one ``PATH<TAB>OFFSET<TAB>LENGTH`` a line."""
    gc: tuple[str, ...] = ()
    """Packages whose imports run with the collector off; frozen and on again afterwards."""
    memos: dict[str, str] = {}
    """Recorded answers to replay: kind -> file."""


class Recipe(Frozen, kw_only=True):
    """The file that ``exec`` and ``preheat`` apply."""

    format: int = RECIPE_FORMAT
    version: str
    created: str
    command: tuple[str, ...]
    script: str = ""
    """Base name of the script or module whose process is preheated; empty to tell by ``command``."""
    goal: Goal
    before_s: float
    after_s: float
    ratio: float
    ratio_low: float | None = None
    ratio_high: float | None = None
    pairs: int = 0
    result: str = ""
    """Id of the result that proves it."""
    ingredients: tuple[Ingredient, ...] = ()
    preheat: Preheat = Preheat()
    fingerprint: Fingerprint = Fingerprint()
