"""Several remedies together: one environment, one plan, and the ingredients of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from coldsoak.inject.coldsoak_agent.cuda import VARIABLES as CUDA_VARIABLES
from coldsoak.model.recipe import Preheat
from coldsoak.model.result import Arm
from coldsoak.remedies.apply import apply
from coldsoak.remedies.evidence import proof_file
from coldsoak.remedies.setting import with_flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.remedies.base import Change, Context, Remedy

__all__ = ["FLAG_VARIABLES", "Mixture", "arm_of", "clash", "mix"]

FLAG_VARIABLES = frozenset({"XLA_FLAGS", "TF_XLA_FLAGS"})
"""Variables that hold many flags: remedies add to them instead of replacing them."""


@dataclass(frozen=True)
class Mixture:
    """The change that several remedies make together."""

    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    preheat: Preheat = field(default_factory=Preheat)
    parts: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = field(default_factory=dict)
    """By remedy: the variables that it sets, those of the remedies before it included where they
    share a variable of flags, and the variables that it removes."""


def mix(context: Context, remedies: Sequence[Remedy]) -> Mixture:
    """Return what ``remedies`` change together; each must apply."""
    env: dict[str, str] = {}
    unset: list[str] = []
    preheat = Preheat()
    parts: dict[str, tuple[Mapping[str, str], tuple[str, ...]]] = {}
    for remedy in remedies:
        change = remedy.change(context)
        own = {name: _joined(env, name, value) for name, value in change.env.items()}
        env |= own
        unset += [name for name in change.unset if name not in unset]
        parts[remedy.id] = (own, change.unset)
        if change.preheat is not None:
            preheat = _both(preheat, change.preheat)
    if preheat.context:
        preheat = msgspec.structs.replace(preheat, env_at_init=_at_init(context, env, unset))
    return Mixture(env=env, unset=tuple(unset), preheat=preheat, parts=parts)


def clash(context: Context, remedy: Remedy, others: Sequence[Remedy]) -> str:
    """Return which of ``others`` gives another value to a variable that ``remedy`` changes, if any."""
    mine = _variables(remedy.change(context))
    for other in others:
        theirs = _variables(other.change(context))
        if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
            return other.id
    return ""


def _variables(change: Change) -> dict[str, str | None]:
    """Return what a change makes of the variables that hold one value; None for removed."""
    values = {**dict.fromkeys(change.unset), **change.env}
    return {name: value for name, value in values.items() if name not in FLAG_VARIABLES}


def arm_of(name: str, baseline: Arm, context: Context, mixture: Mixture) -> Arm:
    """Return ``baseline`` with a mixture applied as ``coldsoak exec`` would apply it."""
    env: dict[str, str | None] = {**baseline.env, **mixture.env}
    env |= dict.fromkeys(mixture.unset)
    tables: dict[str, Any] = {
        "preheat": msgspec.to_builtins(mixture.preheat),
        "command": list(baseline.argv),
    }
    plan = apply(tables).plan
    if plan:
        proof = proof_file(context.store, name)
        proof.parent.mkdir(parents=True, exist_ok=True)
        proof.unlink(missing_ok=True)
        env |= {"COLDSOAK_PREHEAT": plan, "COLDSOAK_PREHEAT_REPORT": str(proof)}
    return Arm(name=name, argv=baseline.argv, cwd=baseline.cwd, env=env)


def _joined(env: Mapping[str, str], name: str, value: str) -> str:
    if name in FLAG_VARIABLES and name in env:
        there = env[name].split()
        return with_flags(env[name], *(word for word in value.split() if word not in there))
    return value


def _both(one: Preheat, other: Preheat) -> Preheat:
    return Preheat(
        context=one.context or other.context,
        device=other.device if other.context else one.device,
        blas=one.blas or other.blas,
        libraries=other.libraries or one.libraries,
        readahead=other.readahead or one.readahead,
        gc=tuple(dict.fromkeys((*one.gc, *other.gc))),
        memos={**one.memos, **other.memos},
    )


def _at_init(context: Context, env: Mapping[str, str], unset: Sequence[str]) -> dict[str, str]:
    """Return the CUDA variables that the program will have at cuInit, with the changes made."""
    seen = {**(context.cuda_environment or {}), **env}
    return {name: seen[name] for name in CUDA_VARIABLES if name in seen and name not in unset}
