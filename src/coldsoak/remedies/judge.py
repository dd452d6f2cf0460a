"""From launches to what became of each remedy."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median as middle
from typing import TYPE_CHECKING

from coldsoak.model.recipe import Trial
from coldsoak.remedies.base import Seen, Verified
from coldsoak.remedies.outputs import Compared, compare, declared, learn, printed
from coldsoak.remedies.trials import BASELINE, Sides, pairs_of, ratio_of
from coldsoak.stats import breakeven, estimate, paired, stopping, summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coldsoak.model.estimate import Estimate, Ratio
    from coldsoak.model.result import Launch, Result
    from coldsoak.remedies.base import Context, Remedy
    from coldsoak.remedies.goals import Goal
    from coldsoak.remedies.rank import Candidate

__all__ = ["Judge", "saved_of"]

SLOWER_LATER = 0.05
"""Share by which later runs must be slower to keep a remedy out of the recipe."""


def saved_of(result: Result, goal: Goal, one: str, other: str) -> Estimate | None:
    """Return the seconds that arm ``other`` saves against ``one``, paired; None without a pair."""
    a, b = pairs_of(result, goal, one, other)
    if not a:
        return None
    after = result.options.launches is None and stopping.chosen_by_rule(len(a), stopping.PAIR_LOOKS)
    differences = [before - with_it for before, with_it in zip(a, b, strict=True)]
    return estimate.median(differences, after_stopping=after, signed=True)


@dataclass(frozen=True)
class Judge:
    """Makes trials of launches.

    Args:
        context: Of the command.
        goal: What is compared.
        folder: Of the result, for the logs.
        level: Of the words ``faster`` and ``slower``.

    """

    context: Context
    goal: Goal
    folder: Path
    level: float

    def trial(self, result: Result, candidate: Candidate, sides: Sides | None = None) -> Trial:
        """Return what became of a remedy, by the arms without and with it.

        Args:
            result: With the launches.
            candidate: The remedy.
            sides: None for the unchanged command and the arm that has the remedy's id for a name.

        """
        remedy = candidate.remedy
        sides = sides or Sides(BASELINE, remedy.id)
        launched = summary.usable(result.launches, sides.having)
        if not launched or not summary.usable(result.launches, BASELINE):
            return self.left_out(candidate, _failure(result, sides.having))
        verified = self._verified(result, remedy, sides)
        outputs = self.outputs(result, sides.having)
        steady = self.steady(result, *sides)
        return Trial(
            remedy=remedy.id,
            kind=remedy.kind,
            title=remedy.title,
            arm=sides.having,
            against="" if sides.lacking == BASELINE else sides.lacking,
            why=f"outputs differ: {outputs.why}" if outputs.state == "differ" else "",
            at_stake_s=candidate.at_stake_s or None,
            ratio=self.ratio(result, sides.having, sides.lacking),
            saved=saved_of(result, self.goal, *sides),
            steady=steady,
            took_effect=verified.effect,
            proof=verified.proof,
            outputs=outputs.state,
            numerics=remedy.numerics,
            memory_bytes=_memory(result, *sides),
            break_even_runs=self._break_even(result, sides, steady),
            risks=remedy.risks,
        )

    def left_out(self, candidate: Candidate, why: str) -> Trial:
        """Return the trial of a remedy that was not tried."""
        remedy = candidate.remedy
        return Trial(
            remedy=remedy.id,
            kind=remedy.kind,
            title=remedy.title,
            applies=False,
            why=why or candidate.left_out,
            at_stake_s=candidate.at_stake_s or None,
            numerics=remedy.numerics,
            risks=remedy.risks,
        )

    def ratio(self, result: Result, arm: str, base: str = BASELINE) -> Ratio | None:
        """Compare an arm with the baseline at the corrected level, or with another as it comes."""
        if base != BASELINE:
            return ratio_of(result, self.goal, base, arm, fixed=True)
        fixed = result.options.launches is not None
        return ratio_of(result, self.goal, base, arm, level=self.level, fixed=fixed)

    def steady(self, result: Result, one: str, other: str) -> Ratio | None:
        """Compare the later runs of two arms; None when the program has none."""
        a, b = paired.match(
            summary.usable(result.launches, one),
            summary.usable(result.launches, other),
            self.goal.steady,
        )
        if not a or min(*a, *b) <= 0:
            return None
        return paired.compare(a, b, threshold=SLOWER_LATER, level=self.level)

    def outputs(self, result: Result, arm: str) -> Compared:
        """Compare what an arm printed and declared with the unchanged command."""
        before = summary.usable(result.launches, BASELINE)
        after = summary.usable(result.launches, arm)
        if len(before) < 2 or not after:
            return Compared("not compared", "there are too few launches")
        learned = learn([printed(self.folder, one) for one in before])
        stable = _stable([declared(one) for one in before])
        for launch in after:
            told = declared(launch)
            for name, digest in stable.items():
                if told.get(name) != digest:
                    return Compared("differ", f"the output {name} is another one")
            found = compare(learned, printed(self.folder, launch))
            if found.state != "equal":
                return found
        return Compared("equal")

    def may_be_used(self, trial: Trial, *, numerics: bool, named: Sequence[str] = ()) -> str:
        """Return why a faster remedy stays out of the recipe; empty when it may be in it."""
        if trial.ratio is None or trial.ratio.verdict != "faster":
            return "not shown to be faster"
        if trial.took_effect is False:
            return f"no effect was seen: {trial.proof}"
        if trial.numerics == "may change" and not numerics and trial.remedy not in named:
            return "results may change; --numerics allows it"
        if trial.outputs == "differ" and not (numerics and trial.numerics == "may change"):
            return trial.why
        if trial.steady and trial.steady.verdict == "slower" and trial.remedy not in named:
            return f"later runs become slower; --remedy {trial.remedy} takes it all the same"
        return ""

    def _verified(self, result: Result, remedy: Remedy, sides: Sides) -> Verified:
        launches = result.launches
        lacking = summary.usable(launches, sides.lacking) or summary.usable(launches, BASELINE)
        seen = Seen(
            launch=_typical(summary.usable(launches, sides.having)),
            before=_typical(lacking),
            traced=next(iter(summary.usable(launches, sides.having, "traced")), None),
            seconds=self.goal.seconds(result, sides.having),
        )
        return remedy.verify(self.context, seen)

    def _break_even(self, result: Result, sides: Sides, steady: Ratio | None) -> float | None:
        """Return after how many runs slower later runs have eaten the saving."""
        if steady is None or steady.verdict != "slower":
            return None
        rows = [
            paired.match(
                summary.usable(result.launches, sides.lacking),
                summary.usable(result.launches, sides.having),
                observe,
            )
            for observe in (self.goal.observe, self.goal.steady)
        ]
        n = min(len(rows[0][0]), len(rows[1][0]))
        first, later = ((a[:n], b[:n]) for a, b in rows)
        found = breakeven.between(first[0], later[0], first[1], later[1])
        return found.runs if found.kind == "before" else None


def _typical(launches: Sequence[Launch]) -> Launch:
    centre = middle(launch.wall_ns for launch in launches)
    return min(launches, key=lambda launch: abs(launch.wall_ns - centre))


def _stable(rows: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the declared outputs that every launch of the unchanged command gave alike."""
    names: set[str] = set().union(*rows)
    return {name: rows[0][name] for name in names if len({row.get(name) for row in rows}) == 1}


def _memory(result: Result, without: str, arm: str) -> int | None:
    """Return the median peak memory with minus without, in bytes."""
    rows = [
        [one.peak_rss for one in summary.usable(result.launches, name) if one.peak_rss]
        for name in (without, arm)
    ]
    if not all(rows):
        return None
    return round(middle(rows[1]) - middle(rows[0]))


def _failure(result: Result, arm: str) -> str:
    note = next((note.text for note in result.notes if note.text.startswith(f"{arm} was left")), "")
    return note or "no launch with it was valid"
