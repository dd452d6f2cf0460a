"""All findings: one module each, in the packages named here."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from coldsoak.findings.base import title_of, words_of
from coldsoak.findings.view import View
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.findings.base import Rule
    from coldsoak.model.result import Result

__all__ = ["GROUPS", "document", "find", "judge", "rules"]

GROUPS = {
    "mistakes": "Mistakes in measuring",
    "placement": "Where the work really ran",
    "causes": "Causes with a known remedy",
}
"""Packages of findings with their headings; every module in them is one finding."""

_RANK = {"mistake": 0, "warning": 1, "cause": 2, "note": 3}
_SURE = {"measured": 0, "likely": 1, "possible": 2}


@cache
def rules() -> dict[str, Rule]:
    """Return every rule by its code, group by group."""
    found: dict[str, Rule] = {}
    for group in GROUPS:
        package = importlib.import_module(f"coldsoak.findings.{group}")
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
            rule = cast("Rule", importlib.import_module(f"{package.__name__}.{module.name}"))
            found[rule.CODE] = rule
    return found


def find(result: Result) -> tuple[Finding, ...]:
    """Return what the rules say about a result, most important first.

    Of a fix only the unchanged command is judged: the other arms are the answers to what it has.
    """
    if result.kind == "fix" and result.arms:
        result = _only(result, result.arms[0].name)
    view = View(result)
    found = [finding for rule in rules().values() for finding in _found(rule, view)]
    return tuple(sorted(found, key=_importance))


def _only(result: Result, arm: str) -> Result:
    """Return ``result`` with the launches, summaries and ledgers of one arm."""
    return replace(
        result,
        arms=tuple(one for one in result.arms if one.name == arm),
        launches=tuple(one for one in result.launches if one.arm == arm),
        summaries=tuple(one for one in result.summaries if one.arm == arm),
        ledgers=tuple(one for one in result.ledgers if one.arm == arm),
    )


def _found(rule: Rule, view: View) -> list[Finding]:
    """Return what one rule says, under its own title where it gives no other.

    A rule that fails says so and takes no other answer away.
    """
    try:
        return [replace(one, title=one.title or title_of(rule)) for one in rule.find(view)]
    except Exception as error:  # noqa: BLE001 (a measured result must not be lost to a rule)
        return [
            Finding(
                code=rule.CODE,
                severity="note",
                title="This could not be judged",
                text=f"{rule.CODE} could not be judged: {error!r}. Please report it.",
                confidence="possible",
            )
        ]


def judge(result: Result) -> Result:
    """Return ``result`` with its findings worked out anew."""
    return replace(result, findings=find(result))


def _importance(finding: Finding) -> tuple[int, int, float]:
    return _RANK[finding.severity], _SURE[finding.confidence], -(finding.seconds or 0.0)


def document() -> str:
    """Return the page of all findings, as ``docs/findings.md`` has it."""
    lines = [
        "# Findings",
        "",
        "What coldsoak says about a measurement besides its figures. Written from the modules in",
        "`src/coldsoak/findings` by `scripts/make_finding_docs.py`; `coldsoak explain CODE` prints",
        "the same text.",
    ]
    for group, heading in GROUPS.items():
        lines += ["", f"## {heading}"]
        lines += _pages(rule for rule in rules().values() if f".{group}." in _module(rule))
    return "\n".join(lines) + "\n"


def _module(rule: Rule) -> str:
    return str(getattr(rule, "__name__", ""))


def _pages(some: Iterable[Rule]) -> list[str]:
    return [
        line
        for rule in some
        for line in (
            "",
            f"### `{rule.CODE}`",
            "",
            f"**{title_of(rule)}** ({rule.SEVERITY})",
            "",
            words_of(rule),
        )
    ]
