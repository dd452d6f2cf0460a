"""The Python interface: measure from a script or a notebook, read results as objects."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from coldsoak.launch.store import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.model.result import Result

__all__ = ["bench", "load", "run"]


def run(command: str | Sequence[str], *, echo: bool = False, **options: Any) -> Result:
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
    from coldsoak import pipeline
    from coldsoak.model.result import Options

    argv = shlex.split(command) if isinstance(command, str) else list(command)
    arm = pipeline.command_arm(argv)
    return pipeline.measure([arm], Options(**options), kind="run", command=argv, echo=echo)


def bench(workload: str = "matmul", **options: Any) -> Result:
    """Measure the first run of a known workload in every installed framework.

    Args:
        workload: ``matmul``, ``conv2d``, ``elementwise``, ``mlp`` or ``attention``.
        options: ``framework``, ``device``, ``shape`` and the other selections of
            ``coldsoak bench``, and fields of :class:`coldsoak.model.result.Options`.

    Raises:
        ColdsoakError: No framework fits the selection, or no launch gives a number.

    """
    from coldsoak import bench as plans
    from coldsoak import pipeline

    selection, asked = plans.split_options(options)
    plan = plans.plan(workload, **selection)
    return pipeline.measure(plan.arms, asked, kind="bench", command=("bench", workload))
