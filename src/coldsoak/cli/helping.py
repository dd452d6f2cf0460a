"""Help that answers at once, in the words of a manual page and not of a type checker."""

# ruff: noqa: ANN401 - contexts are Click's or, in newer versions of Typer, its own copy's

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]


class Group(TyperGroup):
    """Knows that ``--help`` was not given: to find out, Typer imports pydantic, for 70 ms."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option with a default where Typer has none."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class Command(TyperCommand):
    """Leaves out the braces and the types that Typer puts around arguments."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words behind the command's name: ``[OPTIONS] COMMAND...``."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C reaches ``main`` in a disguise, because Typer would end in silence.

        Raises:
            RuntimeError: With the ``KeyboardInterrupt`` as its cause.

        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise RuntimeError("interrupted") from interrupt

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            records = [
                _plain(*record)
                for one in self.get_params(ctx)
                if one.param_type_name == kind and (record := one.get_help_record(ctx))
            ]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _plain(name: str, text: str) -> tuple[str, str]:
    """Return what stands left and right: no types, ``1 or more`` for a range, 60 for 60.0."""
    text = re.sub(r"\bx>=([\d.]+)", r"\1 or more", text)
    return re.sub(r" <\S+>$", "", name), re.sub(r"(default: \d+)\.0\b", r"\1", text)
