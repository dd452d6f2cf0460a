"""Write docs/causes.md from the taxonomy."""

from __future__ import annotations

from pathlib import Path

from coldsoak.ledger.taxonomy import document

TARGET = Path(__file__).parents[1] / "docs" / "causes.md"

if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
    print(f"{TARGET.name} written")
