"""The Python interface: measure from a script or a notebook, read results as objects."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from coldsoak.errors import UsageError
from coldsoak.launch.store import load
from coldsoak.model.result import Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.model.result import Result

__all__ = ["bench", "load", "run"]


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

    argv = shlex.split(command) if isinstance(command, str) else list(command)
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
