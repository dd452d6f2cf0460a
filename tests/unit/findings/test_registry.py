"""Every finding has a page, and the page of all of them is up to date."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from coldsoak.findings import judge, rules
from coldsoak.findings.base import title_of, words_of
from coldsoak.findings.registry import document
from coldsoak.model.finding import Finding

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("code", sorted(rules()))
def test_a_finding_explains_itself(code):
    rule = rules()[code]
    assert code == code.lower().replace("_", "-")
    assert 3 <= len(title_of(rule).split()) <= 16
    assert len(words_of(rule).split()) > 30
    assert any(word in words_of(rule).split() for word in ("fires", "says", "needs"))
    assert rule.__name__.rpartition(".")[2] == code.replace("-", "_")


def test_the_page_of_all_findings_is_up_to_date():
    assert (DOCS / "findings.md").read_text(encoding="utf-8") == document(), (
        "run python scripts/make_finding_docs.py"
    )


def test_mistakes_come_first_then_what_is_sure(make, monkeypatch):
    made = [
        Finding(code="a", severity="note", title="t", text="x"),
        Finding(code="b", severity="mistake", title="t", text="x", confidence="likely"),
        Finding(code="c", severity="mistake", title="t", text="x", seconds=1.0),
        Finding(code="d", severity="mistake", title="t", text="x", seconds=2.0),
    ]
    first = next(iter(rules().values()))
    for rule in rules().values():
        monkeypatch.setattr(rule, "find", lambda view, rule=rule: made if rule is first else [])
    judged = judge(make().launch(r=[9, 1]).result())
    assert [finding.code for finding in judged.findings] == ["d", "c", "b", "a"]


def test_a_finding_has_the_title_of_its_page_unless_it_names_another(make, monkeypatch):
    first = next(iter(rules().values()))
    made = [
        Finding(code="a", severity="note", text="x"),
        Finding(code="b", severity="note", title="Every third", text="x"),
    ]
    for rule in rules().values():
        monkeypatch.setattr(rule, "find", lambda view, rule=rule: made if rule is first else [])
    judged = judge(make().launch(r=[9, 1]).result())
    assert [one.title for one in judged.findings] == [title_of(first), "Every third"]


def test_an_old_result_is_judged_anew(make):
    stale = Finding(code="gone", severity="note", title="t", text="x")
    result = replace(make().launch(r=[9, 1]).result(), findings=(stale,))
    assert judge(result).findings == ()


def test_a_result_without_anything_has_no_findings(make):
    maker = make()
    assert judge(maker.result()).findings == ()


def test_a_rule_that_fails_takes_no_other_answer_away(make, monkeypatch):
    def broken(view):
        raise KeyError("nothing")

    monkeypatch.setattr(rules()["periodic"], "find", broken)
    (found,) = judge(make().launch(r=[9, 1]).result()).findings
    assert found.code == "periodic"
    assert found.severity == "note"
    assert "KeyError" in found.text


def test_of_a_fix_only_the_unchanged_command_is_judged(make, monkeypatch):
    result = make().launch(r=[9, 1]).result()
    (arm,) = result.arms
    other = replace(arm, name="with a remedy")
    launches = (*result.launches, *(replace(one, arm=other.name) for one in result.launches))
    fixed = replace(result, kind="fix", arms=(arm, other), launches=launches)
    seen = []
    for rule in rules().values():
        monkeypatch.setattr(rule, "find", lambda view: seen.append(view.result) or [])
    judge(fixed)
    assert {launch.arm for one in seen for launch in one.launches} == {arm.name}
    assert judge(fixed).launches == launches
