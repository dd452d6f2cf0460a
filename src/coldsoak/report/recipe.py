"""A recipe as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.remedies.apply import apply, load_tables
from coldsoak.report.fix import GOALS
from coldsoak.report.numbers import DASH, duration
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
        (one.remedy, one.kind, duration(one.saved_s), _bounds(one), one.title)
        for one in recipe.ingredients
    )
    details = tuple(
        " · ".join(
            [
                *(f"{name}={value}" for name, value in one.env.items()),
                *(f"no {n}" for n in one.unset),
            ]
        )
        for one in recipe.ingredients
    )
    columns = (
        Column("remedy"),
        Column("kind"),
        Column("saves", right=True),
        Column("95 %", right=True),
        Column("what"),
    )
    risks = [f"Risk: {one.remedy}: {risk}." for one in recipe.ingredients for risk in one.risks]
    off = [f"Off here: {message}." for message in apply(load_tables(file)).messages]
    return Sheet(title, columns, rows, details, remarks=(*risks, *off))


def _bounds(one: Ingredient) -> str:
    if one.saved_low_s is None or one.saved_high_s is None:
        return DASH
    return f"{one.saved_low_s:.2f} … {one.saved_high_s:.2f} s"
