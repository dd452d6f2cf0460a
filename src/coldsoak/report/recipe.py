"""A recipe as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.remedies.apply import apply, load_tables
from coldsoak.report.fix import GOALS
from coldsoak.report.numbers import DASH, ELLIPSIS, decimals, duration, show, time_unit
from coldsoak.report.sheet import Column, Sheet

if TYPE_CHECKING:
    from pathlib import Path

    from coldsoak.model.recipe import Ingredient, Recipe

__all__ = ["recipe_sheet"]


def recipe_sheet(recipe: Recipe, file: Path) -> Sheet:
    """Return the ingredients of a recipe, and what of it is off on this machine."""
    title = (
        f"{GOALS[recipe.goal].capitalize()}: {duration(recipe.before_s)} without, "
        f"{duration(recipe.after_s)} with · {' '.join(recipe.command)}"
    )
    rows = tuple(
        (one.remedy, one.kind, duration(one.saved_s), _bounds(one)) for one in recipe.ingredients
    )
    columns = (
        Column("remedy"),
        Column("kind"),
        Column("saves", right=True),
        Column("95 %", right=True),
    )
    changes = [text for one in recipe.ingredients for text in _changes(one)]
    risks = [f"Risk: {one.remedy}: {risk}." for one in recipe.ingredients for risk in one.risks]
    off = [f"Here {message}." for message in apply(load_tables(file)).messages]
    details = tuple(one.title for one in recipe.ingredients)
    return Sheet(title, columns, rows, details, remarks=(*changes, *risks, *off))


def _changes(one: Ingredient) -> list[str]:
    """Say what the ingredient does to the environment, whole, so that it can be copied."""
    sets = [f"{one.remedy} sets {name}={value}" for name, value in one.env.items()]
    return sets + [f"{one.remedy} removes {name}" for name in one.unset]


def _bounds(one: Ingredient) -> str:
    if one.saved_low_s is None or one.saved_high_s is None:
        return DASH
    unit = time_unit([one.saved_s])
    low, middle, high = (
        seconds / unit.scale for seconds in (one.saved_low_s, one.saved_s, one.saved_high_s)
    )
    digits = decimals(middle, (high - low) / 2)
    return f"{show(low, digits)}{ELLIPSIS}{show(high, digits)} {unit.symbol}"
