"""``python -m coldsoak``."""

from __future__ import annotations

from coldsoak.cli import main

if __name__ == "__main__":
    main()
