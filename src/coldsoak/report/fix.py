"""The answer of ``fix``: what was tried, what came of it, and what the recipe gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.words import plural
from coldsoak.report.numbers import DASH, TIMES, byte_size, duration, interval, point, time_unit
from coldsoak.report.sheet import Column, Sheet, drop_empty

if TYPE_CHECKING:
    from coldsoak.model.estimate import Ratio
    from coldsoak.model.recipe import Recipe, Trial
    from coldsoak.model.result import Result

__all__ = [
    "fix_headline",
    "fix_notes",
    "fix_sheets",
    "left_out_sheet",
    "trials_sheet",
]

GOALS = {
    "first-result": "the first result",
    "first-region": "the first run of the region",
    "exit": "the whole run",
}
PLACEBO = "placebo"
WORTH_SAYING = 16 << 20
"""Bytes of memory below which a difference is left out."""

_SMALL = "<5 %?"
"""Behind a verdict whose interval reaches below the threshold of every trial."""

_RANK = {"faster": 1, "inconclusive": 2, "same": 3, "slower": 4}


def fix_headline(result: Result) -> str:
    """Return in one sentence what was gained."""
    recipe = result.recipe
    if recipe is None:
        tried = sum(bool(trial.arm) for trial in result.trials)
        if not tried:
            return "No remedy applies to this command, so nothing was tried."
        if tried == 1:
            return "The one remedy that was tried is not proved to help here."
        return f"None of the {tried} remedies that were tried is proved to help here."
    names = [one.remedy for one in recipe.ingredients]
    what = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"{what}: {GOALS[recipe.goal]} after {duration(recipe.after_s)} instead of "
        f"{duration(recipe.before_s)}, {_times(recipe)}."
    )


def fix_sheets(result: Result, reference: str = "last", *, everything: bool = False) -> list[Sheet]:
    """Return the tables of what was tried, of the combinations, and of what was not tried.

    Args:
        result: Of a fix.
        reference: By which a command line can name it.
        everything: With the table of what was not tried; else it is said how to see that.

    """
    left_out = left_out_sheet(result)
    count = len(left_out.rows) if left_out is not None and not everything else 0
    remark = _left_out_remark(count, reference)
    found = [
        trials_sheet(result, remark) if any(trial.arm for trial in result.trials) else None,
        _together_sheet(result),
        left_out if everything else None,
    ]
    return [sheet for sheet in found if sheet is not None]


def _left_out_remark(count: int, reference: str) -> tuple[str, ...]:
    if not count:
        return ()
    what = plural(count, "other remedy was", "other remedies were")
    return (f"{what} not tried; why: coldsoak report {reference} --all",)


def fix_notes(result: Result) -> list[str]:
    """Return what the reader should hear: about the placebo first, then about the trials."""
    placebo = result.comparisons.get(PLACEBO)
    lines = []
    if placebo is not None and placebo.verdict in {"faster", "slower"}:
        lines.append(
            f"The placebo came out {placebo.verdict}: the machine was not quiet enough, so do not "
            "trust small savings; measure again."
        )
    lines += [f"{note.text.rstrip('.')}." for note in result.notes]
    invalid = sum(bool(one.invalid) for one in result.launches if one.round > 0)
    if invalid:
        were = plural(invalid, "launch was", "launches were")
        lines.append(f"{were} invalid and replaced.")
    return lines


def trials_sheet(result: Result, remarks: tuple[str, ...] = ()) -> Sheet:
    """Return a row for each remedy that was tried, the placebo last; ``remarks`` come first."""
    tried = sorted((trial for trial in result.trials if trial.arm), key=_order)
    placebo = result.comparisons.get(PLACEBO)
    unit = time_unit(trial.saved.point for trial in tried if trial.saved)
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            trial.remedy,
            str(trial.kind),
            point(trial.saved, unit),
            interval(trial.saved, unit),
            _verdict(trial.ratio),
            {True: "yes", False: "no", None: DASH}[trial.took_effect],
        )
        for trial in tried
    )
    details = tuple(_detail(trial) for trial in tried)
    if placebo is not None:
        rows = (*rows, (PLACEBO, PLACEBO, DASH, DASH, _verdict(placebo), DASH))
        details = (
            *details,
            f"{placebo.estimate.point:.3f}{TIMES} the time of the unchanged command",
        )
    columns = (
        Column("remedy"),
        Column("kind"),
        Column(f"saves\n{unit.symbol}", right=True),
        Column(f"95 %\n{unit.symbol}", right=True),
        Column("verdict"),
        Column("effect"),
    )
    sheet = Sheet(
        "What was tried",
        columns,
        rows,
        details,
        whole_details=True,
        remarks=(*remarks, *_remarks(result)),
    )
    return drop_empty(sheet, DASH)


def left_out_sheet(result: Result) -> Sheet | None:
    """Return the remedies that were not tried, and why."""
    out = [trial for trial in result.trials if not trial.arm]
    if not out:
        return None
    rows = tuple((trial.remedy, trial.why) for trial in out)
    return Sheet("Not tried", (Column("remedy"), Column("why")), rows)


def _together_sheet(result: Result) -> Sheet | None:
    singles = {trial.arm for trial in result.trials}
    rows = tuple(
        (
            name,
            f"{ratio.estimate.point:.3f}",
            _bounds(ratio),
            str(ratio.estimate.n),
            _verdict(ratio),
        )
        for name, ratio in result.comparisons.items()
        if name not in singles and name != PLACEBO
    )
    if not rows:
        return None
    columns = (
        Column("arm"),
        Column(f"time\n{TIMES}", right=True),
        Column("95 %", right=True),
        Column("pairs", right=True),
        Column("verdict"),
    )
    return Sheet("Several together, against the unchanged command", columns, rows)


def _order(trial: Trial) -> tuple[bool, int, float]:
    verdict = trial.ratio.verdict if trial.ratio else "inconclusive"
    saved = trial.saved.point if trial.saved else 0.0
    return not trial.in_recipe, _RANK[verdict], -saved


def _verdict(ratio: Ratio | None) -> str:
    if ratio is None:
        return DASH
    return f"{ratio.verdict}, {_SMALL}" if _maybe_small(ratio) else ratio.verdict


def _maybe_small(ratio: Ratio) -> bool:
    """Tell whether the effect is real but may lie below what matters in practice."""
    return ratio.verdict in {"faster", "slower"} and not ratio.clear


def _detail(trial: Trial) -> str:
    parts = ["in the recipe"] if trial.in_recipe else []
    parts += [trial.why] if trial.why else []
    if trial.ratio is None:
        parts.append("only tried with all the others")
    parts += [trial.proof] if trial.proof else []
    if trial.numerics == "may change":
        parts.append("results may change")
    if trial.memory_bytes and abs(trial.memory_bytes) >= WORTH_SAYING:
        sign = "+" if trial.memory_bytes > 0 else "−"
        parts.append(f"memory {sign}{byte_size(abs(trial.memory_bytes))}")
    if trial.steady and trial.steady.verdict == "slower":
        price = f"later runs {trial.steady.estimate.point:.2f}{TIMES} as long"
        if trial.break_even_runs:
            price += f", eaten up after {trial.break_even_runs:.0f} runs"
        parts.append(price)
    return " · ".join(parts)


def _remarks(result: Result) -> list[str]:
    lines = []
    pairs = [trial.ratio.estimate.n for trial in result.trials if trial.ratio]
    if pairs:
        words = (
            "each remedy is the whole against the whole without it, not corrected for their number."
            if any(trial.against for trial in result.trials)
            else f"verdicts are corrected for {len(pairs) + 1} comparisons, intervals are not."
        )
        lines.append(f"{_range(pairs)} random pairs of fresh processes each; {words}")
    if any(map(_maybe_small, result.comparisons.values())):
        lines.append(f"{_SMALL}: there is an effect, but it may be smaller than 5 %.")
    return lines


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _times(recipe: Recipe) -> str:
    text = f"{1 / recipe.ratio:.2f}{TIMES} faster"
    if recipe.ratio_low is None or recipe.ratio_high is None:
        return text
    return (
        f"{text} (95 % {1 / recipe.ratio_high:.2f} to {1 / recipe.ratio_low:.2f}{TIMES}, "
        f"{recipe.pairs} pairs)"
    )


def _bounds(ratio: Ratio) -> str:
    estimate = ratio.estimate
    if estimate.low is None or estimate.high is None:
        return DASH
    return f"{estimate.low:.3f} … {estimate.high:.3f}"
