"""Write docs/remedies.md from the catalogue."""

from __future__ import annotations

from pathlib import Path

from coldsoak.remedies.document import document

TARGET = Path(__file__).parents[1] / "docs" / "remedies.md"

if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
    print(f"{TARGET.name} written")
