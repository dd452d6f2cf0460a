"""The recipe: what was proved, where, and how to apply it."""

from __future__ import annotations

import platform
from datetime import datetime, timezone
from pathlib import Path
from statistics import median as middle
from typing import TYPE_CHECKING, Any

import msgspec

from coldsoak import __version__
from coldsoak.launch.command import find_python, resolve
from coldsoak.model.recipe import Fingerprint, Ingredient, Recipe, Trial
from coldsoak.remedies.apply import cpu_flags_hash, driver_version, gpu_names, load_tables
from coldsoak.remedies.mixture import mix
from coldsoak.remedies.trials import BASELINE, pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.model.estimate import Ratio
    from coldsoak.model.result import Arm, Result
    from coldsoak.remedies.base import Context, Remedy
    from coldsoak.remedies.goals import Goal
    from coldsoak.remedies.interpreter import Interpreter

__all__ = ["encode", "fingerprint_of", "read", "recipe_of"]

_HEAD = """\
# Written by coldsoak fix. Run with it:  coldsoak exec --recipe {name} -- COMMAND
# or, as the first line of a program:   import coldsoak; coldsoak.preheat("{name}")
# Without coldsoak:                      coldsoak recipe {name} --as shell

"""


def recipe_of(
    result: Result,
    goal: Goal,
    context: Context,
    interpreter: Interpreter,
    remedies: Sequence[Remedy],
    *,
    arm: str,
    proof: Ratio,
    trials: Mapping[str, Trial],
) -> Recipe:
    """Return the recipe of ``remedies``, which arm ``arm`` proved together.

    Args:
        result: The finished result of kind ``fix``.
        goal: What was compared.
        context: Of the command.
        interpreter: The command's.
        remedies: Its ingredients.
        arm: The arm that had exactly these.
        proof: That arm against the baseline.
        trials: Of the single remedies, by id.

    """
    mixture = mix(context, remedies)
    before, after = pairs_of(result, goal, BASELINE, arm)
    base = result.arms[0]
    needs = {name for remedy in remedies for name in remedy.needs}
    return Recipe(
        version=__version__,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=base.argv,
        script=_script(base, context),
        goal=goal.name,
        before_s=round(middle(before), 6),
        after_s=round(middle(after), 6),
        ratio=round(proof.estimate.point, 6),
        ratio_low=_rounded(proof.estimate.low),
        ratio_high=_rounded(proof.estimate.high),
        pairs=len(before),
        result=result.id,
        ingredients=tuple(
            _ingredient(remedy, trials[remedy.id], *mixture.parts[remedy.id], context)
            for remedy in remedies
        ),
        preheat=mixture.preheat,
        fingerprint=fingerprint_of(context, interpreter, needs),
    )


def fingerprint_of(context: Context, interpreter: Interpreter, needs: set[str]) -> Fingerprint:
    """Return where a recipe that depends on the distributions ``needs`` was proved."""
    places = {name: interpreter.places[name] for name in needs if name in interpreter.packages}
    folders = list(places.values())
    site = max(set(folders), key=folders.count) if folders else context.site
    return Fingerprint(
        python=context.python,
        machine=platform.machine(),
        cpu_flags=cpu_flags_hash(),
        driver=driver_version() if context.gpu else "",
        gpus=gpu_names() if context.gpu else (),
        site=site,
        packages={
            name: interpreter.packages[name] for name in sorted(places) if places[name] == site
        },
    )


def encode(recipe: Recipe, name: str = "coldsoak.recipe.toml") -> bytes:
    """Return a recipe as TOML; ``name`` is what its comments call the file."""
    import tomli_w

    tables: dict[str, Any] = msgspec.to_builtins(recipe)
    tables = {"format": recipe.format, **tables}
    tables.setdefault("ingredients", [])
    text = _HEAD.format(name=name) + tomli_w.dumps(_without_none(tables), multiline_strings=False)
    return text.encode(errors="replace")  # a command need not be UTF-8


def read(path: str | Path) -> Recipe:
    """Read a recipe file; raises ``FormatError`` as :func:`coldsoak.remedies.apply.load_tables`."""
    from coldsoak.errors import FormatError

    tables = load_tables(path)
    try:
        return msgspec.convert(tables, Recipe)
    except msgspec.ValidationError as error:
        raise FormatError(f"{path} is not a recipe.", why=str(error)) from error


def _ingredient(
    remedy: Remedy,
    trial: Trial,
    env: Mapping[str, str],
    unset: Sequence[str],
    context: Context,
) -> Ingredient:
    saved = trial.saved
    return Ingredient(
        remedy=remedy.id,
        kind=remedy.kind,
        title=remedy.title,
        why=trial.proof,
        saved_s=round(saved.point, 6) if saved else 0.0,
        saved_low_s=_rounded(saved.low) if saved else None,
        saved_high_s=_rounded(saved.high) if saved else None,
        pairs=saved.n if saved else 0,
        numerics=remedy.numerics,
        risks=remedy.risks,
        env=dict(env),
        unset=tuple(unset),
        needs=tuple(name for name in remedy.needs if name in context.packages),
    )


def _script(arm: Arm, context: Context) -> str:
    """Return the name of a console script; empty where the command names its script itself."""
    file = resolve(arm.argv, cwd=arm.cwd, path=context.environment.get("PATH"))
    return Path(file).name if find_python(file) not in {file, None} else ""


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _without_none(value: Any) -> Any:  # noqa: ANN401 - TOML tables
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(item) for item in value]
    return value
