"""The doctor's answer as text."""

from io import StringIO

from rich.console import Console

from coldsoak.machine.checks.base import Verdict
from coldsoak.machine.checks.registry import Examination, Section
from coldsoak.report.doctor import headline, render

BAD = Verdict(code="a", state="bad", what="word " * 30 + "end.", why="Because.", do="type this")
FINE = Verdict(code="b", state="ok", what="All is well.")


def examination(*verdicts):
    sections = (Section(group="machine", verdicts=verdicts),)
    return Examination(interpreter="/usr/bin/python", python="3.12.1", sections=sections)


def printed(found, *, width=80, **options):
    stream = StringIO()
    render(found, Console(file=stream, width=width, highlight=False), **options)
    return stream.getvalue()


def test_long_texts_hang_under_their_beginning():
    lines = printed(examination(BAD, FINE)).splitlines()
    assert max(map(len, lines)) <= 80
    first = next(i for i, line in enumerate(lines) if line.startswith("  bad      word"))
    assert lines[first + 1].startswith(" " * 11 + "word")
    assert lines[first + 2].endswith("end.")
    assert lines[first + 3 : first + 5] == [" " * 11 + "Because.", " " * 11 + "Try: type this"]


def test_what_is_in_order_takes_one_line_unless_all_is_wanted():
    assert "  ok       b\n" in printed(examination(BAD, FINE))
    assert "  ok       All is well.\n" in printed(examination(BAD, FINE), everything=True)


def test_headlines():
    warn = Verdict(code="c", state="warn", what="Hm.")
    assert headline(examination(FINE)).startswith("Nothing here is known")
    assert headline(examination(BAD)) == "1 thing is bad for first runs."
    assert headline(examination(BAD, BAD, warn)) == (
        "2 things are bad for first runs, 1 is doubtful."
    )
    assert headline(examination(warn)) == "1 thing is doubtful."
    assert headline(examination(warn, warn)) == "2 things are doubtful."
