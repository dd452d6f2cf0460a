"""The Python interface: measure from a script or a notebook, read results as objects."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from coldsoak.errors import UsageError
from coldsoak.launch.store import load
from coldsoak.model.result import Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.model.result import Result

__all__ = ["bench", "fix", "load", "run"]


def run(command: str | Sequence[str], *, echo: bool = False, **options: object) -> Result:
    """Measure the first run of ``command`` in fresh processes.

    Args:
        command: An argument list, or a line that is split as a shell would.
        echo: Show the command's output while it runs.
        options: Fields of :class:`coldsoak.model.result.Options`, e.g. ``launches=10``.

    Returns:
        The saved result; ``coldsoak report last`` prints it.

    Raises:
        ColdsoakError: The command cannot be started, fails, or gives no number.

    """
    from coldsoak.pipeline import command_arm, measure

    argv = _words(command)
    asked = _options(options)
    return measure([command_arm(argv)], asked, kind="run", command=argv, echo=echo)


def bench(
    workload: str = "matmul",
    *,
    frameworks: Sequence[str] = (),
    compilers: Sequence[str] = (),
    devices: Sequence[str] = (),
    shapes: Sequence[str] = ("100", "1000"),
    dtype: str = "float32",
    **options: object,
) -> Result:
    """Measure the first run of a known workload, frameworks side by side.

    Args:
        workload: ``matmul``, ``conv2d``, ``elementwise``, ``mlp`` or ``attention``.
        frameworks: Names; empty for all that are installed.
        compilers: Modes such as ``eager`` and ``xla``; empty for the first of each framework.
        devices: ``cpu``, ``gpu:0``, …; empty for those that are found.
        shapes: Sizes as ``coldsoak bench --shape`` takes them, one each.
        dtype: Element type.
        options: Fields of :class:`coldsoak.model.result.Options`.

    Raises:
        ColdsoakError: Nothing fits the selection, or no launch gives a number.

    """
    from coldsoak.pipeline import measure
    from coldsoak.plans import plan

    made = plan(
        workload,
        frameworks=frameworks,
        devices=devices,
        compilers=compilers,
        shapes=shapes,
        dtype=dtype,
    )
    command = ("bench", workload)
    return measure(made.arms, _options(options), kind="bench", command=command, notes=made.notes)


def fix(
    command: str | Sequence[str],
    *,
    goal: Literal["first-result", "first-region", "exit"] | None = None,
    remedies: Sequence[str] = (),
    exclude: Sequence[str] = (),
    numerics: bool = False,
    check: str = "",
    output: str | Path | None = "coldsoak.recipe.toml",
    **options: object,
) -> Result:
    """Try the remedies that apply to ``command`` and write those that are proved to a recipe.

    Args:
        command: An argument list, or a line that is split as a shell would.
        goal: What is to become faster; the first result unless the program has no region.
        remedies: Ids; empty for all that apply.
        exclude: Ids that are not tried.
        numerics: Remedies that may change results may be in the recipe.
        check: Command that looks at what each launch left; its answer must not change.
        output: Where the recipe is written, replacing what is there; None for nowhere.
        options: Fields of :class:`coldsoak.model.result.Options`; ``launches`` is the number of
            pairs.

    Returns:
        The saved result; ``trials`` has what became of each remedy, ``recipe`` what was proved.

    Raises:
        ColdsoakError: A remedy is unknown, or the command cannot be measured.

    """
    from coldsoak import fixing
    from coldsoak.remedies.fixing import Wanted

    argv = _words(command)
    wanted = Wanted(
        goal=goal, named=tuple(remedies), excluded=tuple(exclude), numerics=numerics, check=check
    )
    done = fixing.fix(argv, _options({"budget_s": 600.0, **options}), wanted)
    return (done if output is None else fixing.write_recipe(done, Path(output))).result


def _words(command: str | Sequence[str]) -> list[str]:
    if not isinstance(command, str):
        return list(command)
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(
            "The command cannot be split as a shell would.",
            why=str(error),
            do="Give a list of arguments.",
        ) from None


def _options(given: Mapping[str, object]) -> Options:
    unknown = sorted(set(given) - set(Options.__struct_fields__))
    if unknown:
        raise UsageError(
            f"There is no option {', '.join(unknown)}.",
            do=f"Options are {', '.join(Options.__struct_fields__)}.",
        )
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise UsageError("An option has a value of the wrong type.", why=str(error)) from None
