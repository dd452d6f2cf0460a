"""``coldsoak schema``: what a result file may hold."""

from __future__ import annotations

import typer

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON Schema of a result file."""
    import msgspec

    from coldsoak.model.result import Result

    text = msgspec.json.encode(msgspec.json.schema(Result))
    typer.echo(msgspec.json.format(text, indent=2).decode())
