"""Environment variables that hurt a first run, or do nothing on these versions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.machine.checks.base import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from coldsoak.machine.checks.base import Group, State
    from coldsoak.machine.checks.subject import Subject

__all__ = ["RULES", "Setting", "Variables"]

_OFF = {"", "0", "false", "off", "no"}
_TRUE = {"1", "true", "on", "yes"}


def _any(_value: str, _all: Mapping[str, str]) -> bool:
    return True


def _on(value: str, _all: Mapping[str, str]) -> bool:
    return value.lower() not in _OFF


def _true(value: str, _all: Mapping[str, str]) -> bool:
    return value.lower() in _TRUE


def _is(*wanted: str) -> Callable[[str, Mapping[str, str]], bool]:
    return lambda value, _all: value.upper() in wanted


def _missing_folder(value: str, _all: Mapping[str, str]) -> bool:
    return not Path(value).is_dir()


def _thresholds_stay(_value: str, environment: Mapping[str, str]) -> bool:
    return "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in environment


def _at_least(cuda: str, least: tuple[int, int]) -> bool:
    parts = cuda.split(".")
    return tuple(int(part) for part in parts if part.isdigit())[:2] >= least


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One line of the table."""

    name: str
    state: State
    why: str
    do: str = ""
    when: Callable[[str, Mapping[str, str]], bool] = _any
    """Whether this value is meant; gets the value and the whole environment."""
    users: tuple[str, ...] = ()
    """Distributions that read it; empty: everything does."""
    cuda: tuple[int, int] | None = None
    """Only where the driver has at least this CUDA."""
    harm: str = "hurts"


RULES = (
    Setting(
        name="CUDA_MODULE_LOADING",
        state="bad",
        when=_is("EAGER"),
        why="Every kernel of every CUDA library is loaded at the start: torch took 8 s instead of 4.",
        do="unset CUDA_MODULE_LOADING",
    ),
    Setting(
        name="CUDA_MODULE_LOADING",
        state="warn",
        when=_is("LAZY"),
        cuda=(12, 2),
        harm="has no effect",
        why="It is the default since CUDA 12.2.",
        do="unset CUDA_MODULE_LOADING",
    ),
    Setting(
        name="CUDA_CACHE_DISABLE",
        state="bad",
        when=_on,
        why="Machine code that the driver compiles from PTX is not kept: each process compiles it.",
        do="unset CUDA_CACHE_DISABLE",
    ),
    Setting(
        name="CUDA_LAUNCH_BLOCKING",
        state="bad",
        when=_on,
        why="Every kernel is waited for; nothing overlaps, and timings are not those of production.",
        do="unset CUDA_LAUNCH_BLOCKING",
    ),
    Setting(
        name="CUDA_FORCE_PTX_JIT",
        state="bad",
        when=_on,
        why="The driver ignores machine code and compiles PTX in its place.",
        do="unset CUDA_FORCE_PTX_JIT",
    ),
    Setting(
        name="PYTHONDONTWRITEBYTECODE",
        state="warn",
        when=lambda value, _all: bool(value),
        why="Modules without bytecode are compiled again in each process.",
        do="unset PYTHONDONTWRITEBYTECODE",
    ),
    Setting(
        name="PYTHONPYCACHEPREFIX",
        state="warn",
        when=_missing_folder,
        why="The folder does not exist, so the next process compiles every module it imports.",
        do='mkdir -p "$PYTHONPYCACHEPREFIX"',
    ),
    Setting(
        name="PYTHONPROFILEIMPORTTIME",
        state="warn",
        when=_on,
        why="Each import prints a line.",
        do="unset PYTHONPROFILEIMPORTTIME",
    ),
    Setting(
        name="TORCHINDUCTOR_FX_GRAPH_CACHE",
        state="warn",
        when=_true,
        users=("torch",),
        harm="has no effect",
        why="The cache is on without it.",
        do="unset TORCHINDUCTOR_FX_GRAPH_CACHE",
    ),
    Setting(
        name="TORCHINDUCTOR_FX_GRAPH_CACHE",
        state="bad",
        when=_is("0", "FALSE"),
        users=("torch",),
        why="torch.compile compiles every graph again in each process.",
        do="unset TORCHINDUCTOR_FX_GRAPH_CACHE",
    ),
    Setting(
        name="TORCHINDUCTOR_AUTOGRAD_CACHE",
        state="warn",
        when=_true,
        users=("torch",),
        harm="has no effect",
        why="The cache is on without it.",
        do="unset TORCHINDUCTOR_AUTOGRAD_CACHE",
    ),
    Setting(
        name="TORCHINDUCTOR_FORCE_DISABLE_CACHES",
        state="bad",
        when=_on,
        users=("torch",),
        why="torch.compile keeps nothing.",
        do="unset TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    ),
    Setting(
        name="TRITON_ALWAYS_COMPILE",
        state="bad",
        when=_on,
        users=("triton",),
        why="Triton compiles every kernel again, its cache notwithstanding.",
        do="unset TRITON_ALWAYS_COMPILE",
    ),
    Setting(
        name="JAX_COMPILATION_CACHE_DIR",
        state="warn",
        when=_thresholds_stay,
        users=("jax",),
        harm="is not enough",
        why="Programs that compile in less than a second are not kept.",
        do="export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0",
    ),
    Setting(
        name="JAX_ENABLE_COMPILATION_CACHE",
        state="bad",
        when=_is("0", "FALSE"),
        users=("jax",),
        why="JAX compiles every program again in each process.",
        do="unset JAX_ENABLE_COMPILATION_CACHE",
    ),
    Setting(
        name="JAX_DISABLE_JIT",
        state="bad",
        when=_on,
        users=("jax",),
        why="Nothing is compiled: every operation runs on its own.",
        do="unset JAX_DISABLE_JIT",
    ),
    Setting(
        name="XLA_PYTHON_CLIENT_PREALLOCATE",
        state="warn",
        when=_true,
        users=("jax",),
        harm="has no effect",
        why="Taking three quarters of the card at start is the default; “false” avoids it.",
        do="export XLA_PYTHON_CLIENT_PREALLOCATE=false",
    ),
    Setting(
        name="TF_CPP_MIN_LOG_LEVEL",
        state="ok",
        users=("tensorflow", "tensorflow-cpu"),
        harm="has no effect on time",
        why="It only hides messages, those about a missing GPU too.",
    ),
    Setting(
        name="LD_BIND_NOW",
        state="warn",
        when=_on,
        harm="has no effect",
        why="Python loads libraries that way already.",
        do="unset LD_BIND_NOW",
    ),
    Setting(
        name="CUDA_FORCE_PRELOAD_LIBRARIES",
        state="warn",
        when=_on,
        why="The driver loads its compilers when it is initialised, needed or not.",
        do="unset CUDA_FORCE_PRELOAD_LIBRARIES",
    ),
    Setting(
        name="LD_PRELOAD",
        state="warn",
        when=lambda value, _all: bool(value.strip()),
        harm="is loaded into every process",
        why="Compilers and other children load it too.",
    ),
)
"""Settings with what they do. Sources: CUDA programming guide (environment variables), the
frameworks' sources, and measurements on an H200 in November 2026."""


class Variables:
    """Environment variables that hurt, or that people set in vain.

    Much advice is older than the versions it is followed on. A variable that does nothing costs
    nothing, but it lets one believe that the matter is settled.
    """

    code = "variable"
    group: Group = "environment"

    def read(self, subject: Subject) -> tuple[tuple[str, Setting], ...]:
        """Return the settings that hold in the command's environment."""
        environment = subject.environment
        return tuple(
            (environment[one.name], one)
            for one in RULES
            if one.name in environment
            and one.when(environment[one.name], environment)
            and (not one.users or subject.has(*one.users))
            and (one.cuda is None or _at_least(subject.cards.cuda, one.cuda))
        )

    def judge(self, seen: tuple[tuple[str, Setting], ...]) -> Iterator[Verdict]:
        """Say of each what it does."""
        for value, one in seen:
            yield Verdict(
                code=f"{self.code}:{one.name}",
                state=one.state,
                what=f"{one.name}={value} {one.harm}.",
                why=one.why,
                do=one.do,
            )
        if not seen:
            yield Verdict(code=self.code, state="ok", what="No variable is known to hurt.")
