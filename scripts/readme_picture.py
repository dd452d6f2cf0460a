"""Draw the terminal answer of a saved result as the SVG of the README.

    python scripts/readme_picture.py [RESULT] [FILE]

RESULT is a file, an id or ``last``; FILE is docs/answer.svg by default. The picture is what
``coldsoak report RESULT`` prints, with nothing added and nothing left out.
"""

import io
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from coldsoak.launch.store import load
from coldsoak.report.console import render

WIDTH = 84
TARGET = Path(__file__).parents[1] / "docs" / "answer.svg"


def main():
    reference = sys.argv[1] if len(sys.argv) > 1 else "last"
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else TARGET
    result = load(reference)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    render(result, console)
    title = f"coldsoak {result.kind} -- {shlex.join(result.command)}"
    svg = console.export_svg(title=title, theme=MONOKAI)
    target.write_text(svg, encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
