"""Draw the terminal answer of a saved result as the SVG of the README.

    python scripts/readme_picture.py [RESULT] [FILE] [OLD=NEW ...]

RESULT is a file, an id or ``last``; FILE is docs/answer.svg by default. Each OLD=NEW replaces a
text everywhere, for folders of the machine. The causes are worked out again where the traces are
still there. The picture has the parts of ``coldsoak report RESULT`` that answer the question: the
sentence, the findings, the region, which explanation holds, and where run 0 goes. Phases,
imports, other processes and the way to the first result would make it too long.
"""

import io
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from coldsoak.launch.store import Store, encode_result, read_result
from coldsoak.pipeline import attributed
from coldsoak.report.console import caption, print_lines, print_sheet
from coldsoak.report.findings import print_findings
from coldsoak.report.hypotheses import hypotheses_sheet
from coldsoak.report.ledger_table import breakdowns, ledger_sheet
from coldsoak.report.next_step import next_step
from coldsoak.report.remarks import counts_line
from coldsoak.report.sentence import headline
from coldsoak.report.tables import regions_sheet

WIDTH = 88
TARGET = Path(__file__).parents[1] / "docs" / "answer.svg"


def main():
    arguments = [text for text in sys.argv[1:] if "=" not in text]
    changes = [text.partition("=") for text in sys.argv[1:] if "=" in text]
    target = Path(arguments[1]) if len(arguments) > 1 else TARGET
    result = saved(arguments[0] if arguments else "last", changes)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    draw(result, console)
    title = f"coldsoak {result.kind} -- {shlex.join(result.command)}"
    svg = console.export_svg(title=title, theme=MONOKAI)
    target.write_text(svg, encoding="utf-8")
    print(target)


def saved(reference, changes):
    file = Store().find(reference)
    text = encode_result(attributed(read_result(file), file.parent)).decode()
    for old, _, new in changes:
        text = text.replace(old, new)
    copy = file.with_name("picture.json")
    try:
        copy.write_text(text, encoding="utf-8")
        return read_result(copy)
    finally:
        copy.unlink(missing_ok=True)


def draw(result, console):
    summary = result.summaries[0]
    print_lines(Text(headline(result), style="bold"), console)
    print_lines(Text(caption(result), style="dim"), console)
    print_findings(result, console)
    sheets = (
        regions_sheet(result, summary),
        hypotheses_sheet(result, summary),
        *(ledger_sheet(result, table) for table in breakdowns(result, summary)[:1]),
    )
    for sheet in sheets:
        if sheet is not None:
            print_sheet(sheet, console)
    console.print()
    print_lines(Text(counts_line(result, summary), style="dim"), console)
    step = Text.assemble(("Next: ", "dim"), (next_step(result), "bold cyan"))
    console.print(step, soft_wrap=True)


if __name__ == "__main__":
    main()
