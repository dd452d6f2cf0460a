"""``coldsoak schema``: what a result file may hold."""

from __future__ import annotations

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON Schema of a result file."""
    import msgspec

    from coldsoak.cli.terminal import say_json
    from coldsoak.model.result import Result

    say_json(msgspec.json.schema(Result))
