"""Explanations are judged by their share of what is paid once, and by what could be seen."""

import pytest
from msgspec.structs import replace

from coldsoak.findings.hypotheses import HYPOTHESES, judge_hypotheses
from coldsoak.findings.view import View
from coldsoak.model.causes import Cause
from coldsoak.model.ledger import Evidence, Item, Ledger, Line
from coldsoak.model.result import SourceState

MS = 1_000_000


def ledger(launch, **milliseconds):
    lines = tuple(
        Line(cause=Cause(name), ns=round(ms * MS), steady_ns=0.0)
        for name, ms in milliseconds.items()
    )
    total = sum(line.ns for line in lines)
    return Ledger(
        scope="region", arm="command", launch=launch, series="r", start_ns=0, end_ns=total,
        total_ns=total, steady_runs=3, lines=lines,
    )  # fmt: skip


def judge(make, *, gpu=True, cupti="on", lost=0, lines=(), **milliseconds):
    maker = make(gpu=gpu)
    for _ in range(2):
        maker.launch(r=[101, *[1.0] * 5])
    maker.launch("traced", r=[101, *[1.0] * 5])
    state = SourceState(name="cupti", state=cupti, reason="no rights", lost=lost)
    maker.launches[-1] = replace(maker.launches[-1], sources=(state,))
    made = ledger(3, **milliseconds)
    made = replace(made, lines=(*made.lines, *lines))
    result = maker.result(ledgers=(made,))
    return judge_hypotheses(View(result), "command", "region", "r")


def test_confirmed_minor_and_refuted(make):
    found = judge(make, module_load=60, plan_build=30, page_fault=9.5, host_to_device=0.5)
    verdicts = {h.name: h.verdict for h in found.hypotheses}
    assert verdicts["code loading"] == verdicts["library start"] == "confirmed"
    assert verdicts["memory"] == "minor"
    assert verdicts["data movement"] == "refuted"
    assert found.main.name == "code loading"
    assert found.named("code loading").seconds == pytest.approx(0.06, rel=0.01)


def test_what_could_not_be_seen_is_not_refuted(make):
    found = judge(make, cupti="off", import_python=100)
    assert found.named("data movement").verdict == "not seen"
    assert "no rights" in found.named("data movement").evidence
    assert found.named("imports").verdict == "confirmed"
    assert found.named("compiling").verdict == "refuted"


@pytest.mark.parametrize(
    ("lost", "text"), [(1234, "CUPTI lost 1,234 records"), (0, "CUPTI lost records (no rights)")]
)
def test_lost_records_cannot_refute_either(make, lost, text):
    found = judge(make, cupti="lost", lost=lost, import_python=100).named("data movement")
    assert (found.verdict, found.evidence) == ("not seen", text)


def test_of_several_traced_launches_the_one_that_lacks_most_counts(make):
    maker = make(gpu=True)
    for state in ("on", "off", "lost", "on"):
        maker.launch("traced", r=[101, 1.0])
        source = SourceState(name="cupti", state=state)
        maker.launches[-1] = replace(maker.launches[-1], sources=(source,))
    assert View(maker.result()).sources("command")["cupti"].state == "off"


def test_without_a_card_there_is_nothing_to_see(make):
    found = judge(make, gpu=False, cupti="off", import_python=100)
    assert found.named("data movement").verdict == "refuted"


def test_waiting_for_a_compiler_is_compiling(make):
    items = (
        Item(label="/usr/bin/ptxas -arch sm_90", ns=60 * MS),
        Item(label="file -b x", ns=20 * MS),
    )
    child = Line(cause=Cause.CHILD_PROCESS, ns=80 * MS, evidence=Evidence(items=items))
    found = judge(make, compile=20, lines=(child,))
    assert found.named("compiling").share == pytest.approx(0.8)
    assert dict(found.other)["child_process"] == pytest.approx(0.02, rel=0.01)


def test_no_ledger_no_judgement(make):
    result = make().launch(r=[9, 1]).result()
    assert judge_hypotheses(View(result), "command", "region", "r") is None


def test_no_cause_stands_for_two_explanations():
    causes = [cause for group in HYPOTHESES.values() for cause in group]
    assert len(causes) == len(set(causes))
