"""Write docs/findings.md from the docstrings of the findings."""

from __future__ import annotations

from pathlib import Path

from coldsoak.findings.registry import document

TARGET = Path(__file__).parents[1] / "docs" / "findings.md"

if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
    print(f"{TARGET.name} written")
