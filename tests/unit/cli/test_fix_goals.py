"""The goals that the command line offers are those of the model, though it does not load it."""

from __future__ import annotations

from typing import get_args

from coldsoak.cli.fix import GOALS
from coldsoak.model.recipe import Goal


def test_goals_are_the_models():
    assert get_args(Goal) == GOALS
