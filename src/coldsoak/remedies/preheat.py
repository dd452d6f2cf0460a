"""``coldsoak.preheat``: apply a recipe from inside the program, in one line at its top."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from coldsoak.errors import ColdsoakError
from coldsoak.remedies.apply import INJECT, apply, load_tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Preheating", "preheat"]


class Preheating(Protocol):
    """What runs beside the program after :func:`preheat`."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every stage is done, at most ``timeout`` seconds; tell whether they are."""

    def report(self) -> dict[str, tuple[str, str, int, int]]:
        """Return stage -> (``done``, ``running``, ``off`` or ``failed``; text; begin, end in ns)."""


def preheat(recipe: str | Path = "coldsoak.recipe.toml") -> Preheating:
    """Apply a recipe to this process: its variables now, its stages on threads beside the imports.

    Call it before the frameworks are imported. It returns at once and never raises because of the
    recipe: a recipe that is missing or does not fit this machine is said on stderr, and the program
    goes on as without it.

    Args:
        recipe: The file that ``coldsoak fix`` wrote.

    Returns:
        A handle with ``wait()`` and ``report()``.
    """
    try:
        tables = load_tables(recipe)
        applied = apply(tables)
    except ColdsoakError as error:
        _say(error.what)
        return _start("")
    late = _already_imported(tables)
    for message in (*applied.messages, *late):
        _say(message)
    _set(applied.env, applied.unset)
    plan = "\n".join(line for line in applied.plan.splitlines() if not line.startswith("script "))
    return _start(plan)


def _start(plan: str) -> Preheating:
    sys.path.append(INJECT)
    try:
        stages = import_module("coldsoak_agent.preheat")
    finally:
        sys.path.remove(INJECT)
    handle: Preheating = stages.start(plan)
    return handle


def _set(env: Mapping[str, str], unset: tuple[str, ...]) -> None:
    """Set the variables, and what the running interpreter has made of them already."""
    os.environ.update(env)
    for name in unset:
        os.environ.pop(name, None)
    if "PYTHONPYCACHEPREFIX" in env:
        sys.pycache_prefix = env["PYTHONPYCACHEPREFIX"]
    if "PYTHONDONTWRITEBYTECODE" in unset:
        sys.dont_write_bytecode = False


def _already_imported(tables: Mapping[str, object]) -> list[str]:
    ingredients = tables.get("ingredients")
    if not isinstance(ingredients, list):
        return []
    late = {need for item in ingredients for need in item.get("needs", ()) if need in sys.modules}
    return [f"{name} is imported already; call preheat() before it" for name in sorted(late)]


def _say(message: str) -> None:
    sys.stderr.write(f"coldsoak: {message}\n")
