"""The section of findings: short, most important first, the rest counted."""

import io

from msgspec.structs import replace
from rich.console import Console

from coldsoak.model.finding import Finding
from coldsoak.report.findings import MOST, print_findings
from coldsoak.report.markdown import markdown
from coldsoak.report.pages import page_named, print_page


def text_of(result, width=80):
    out = io.StringIO()
    print_findings(result, Console(file=out, width=width))
    return out.getvalue()


def finding(number, **fields):
    base = Finding(
        code=f"code-{number}",
        severity="warning",
        title=f"Title {number}",
        text="A sentence of evidence that is long enough to be folded at the eightieth column.",
        evidence=("one", "two", "three", "four"),
        advice=("type this",),
        confidence="likely",
        settle="Measuring it would settle it.",
        file="/home/someone/demo.py",
        line=7,
    )
    return replace(base, **fields)


def test_nothing_is_printed_without_findings(one_region):
    assert text_of(one_region) == ""


def test_a_finding_says_where_how_sure_and_what_to_type(one_region):
    text = text_of(replace(one_region, findings=(finding(1),)))
    assert "warning code-1 · demo.py:7 · likely" in text
    assert "type this" in text
    assert "would settle it" in text
    assert "four" not in text, "at most three lines of evidence"
    assert max(map(len, text.splitlines())) <= 80


def test_more_than_six_are_counted(one_region):
    text = text_of(replace(one_region, findings=tuple(finding(n) for n in range(MOST + 3))))
    assert text.count("warning code-") == MOST
    assert "3 more (code-6, code-7, code-8): coldsoak report" in text
    assert "--markdown" in text


def test_markdown_has_them_all(one_region):
    text = markdown(replace(one_region, findings=tuple(finding(n) for n in range(MOST + 3))))
    assert all(f"Title {n}" in text for n in range(MOST + 3))
    assert "- four" in text


def test_the_page_of_a_finding():
    out = io.StringIO()
    print_page(page_named("Async_Timing"), Console(file=out, width=80))
    text = out.getvalue()
    assert text.startswith("async-timing: The clock was read before the device was done")
    assert max(map(len, text.splitlines())) <= 80
