"""``fix``: from a diagnosis over trials to a recipe."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from statistics import median as middle
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from coldsoak.errors import ColdsoakError
from coldsoak.findings.words import plural
from coldsoak.launch import session
from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.redact import redact_arm
from coldsoak.model.result import Arm, Note
from coldsoak.remedies.checking import CheckingExecutor
from coldsoak.remedies.contexts import context_of
from coldsoak.remedies.goals import goal_for
from coldsoak.remedies.judge import Judge
from coldsoak.remedies.mixture import arm_of, clash, mix
from coldsoak.remedies.rank import rank
from coldsoak.remedies.recipe import recipe_of
from coldsoak.remedies.registry import ADVICE, PLACEBO, REMEDIES, find
from coldsoak.remedies.trials import (
    BASELINE,
    PLACEBO_ARM,
    TOGETHER,
    Sides,
    Trials,
    carries_each,
    corrected_level,
    ratio_of,
)
from coldsoak.stats.estimate import minimum_n

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from coldsoak.launch.progress import Progress
    from coldsoak.launch.request import Executor
    from coldsoak.launch.session import Attribute
    from coldsoak.launch.store import Store
    from coldsoak.model.recipe import Goal as GoalName
    from coldsoak.model.recipe import Recipe, Trial
    from coldsoak.model.result import Options, Result
    from coldsoak.remedies.base import Context, Remedy
    from coldsoak.remedies.goals import Goal
    from coldsoak.remedies.interpreter import Interpreter
    from coldsoak.remedies.rank import Candidate

__all__ = ["Fixed", "Wanted", "cache_folder", "fix"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asked ``fix`` for."""

    goal: GoalName | None = None
    named: tuple[str, ...] = ()
    """Only these remedies."""
    excluded: tuple[str, ...] = ()
    folklore: bool = False
    numerics: bool = False
    """Remedies that may change results may be in the recipe."""
    check: str = ""
    """Command that looks at what each launch left."""
    store: Path | None = None
    """Folder for caches; None for one of this command in coldsoak's data folder."""


class Fixed(NamedTuple):
    """What came out."""

    result: Result
    """Of kind ``fix``, saved; its trials tell what became of each remedy."""
    recipe: Recipe | None
    """None when nothing helped."""
    goal: Goal
    advice: tuple[tuple[str, str], ...] = ()
    """Title and text of what only the user can change."""


def cache_folder(store: Store, command: Sequence[str], cwd: str) -> Path:
    """Return the folder of a command's caches: the same for the same command and folder."""
    digest = hashlib.blake2s("\0".join((*command, cwd)).encode("utf-8", "surrogateescape"))
    return store.home / "caches" / digest.hexdigest()[:12]


def fix(
    diagnosis: Result,
    options: Options,
    wanted: Wanted,
    *,
    store: Store,
    progress: Progress | None = None,
    attribute: Attribute | None = None,
    executor: Executor | None = None,
) -> Fixed:
    """Try the remedies that apply and return what was proved.

    Args:
        diagnosis: A finished result of the unchanged command, its traces in ``store``.
        options: Of the trials: budget, pairs, cold state.
        wanted: What the user asked for.
        store: Where the result is saved and, unless asked otherwise, the caches live.
        progress: Hears what happens.
        attribute: Makes the ledgers of the traced launches.
        executor: Runs the launches.

    Raises:
        UsageError: A remedy is unknown.
        ColdsoakError: As ``launch.session.measure``.

    """
    named = [remedy.id for remedy in find(wanted.named)]
    return _Fix(diagnosis, options, wanted, store, named).run(progress, attribute, executor)


@dataclass
class _Fix:
    diagnosis: Result
    options: Options
    wanted: Wanted
    store: Store
    named: list[str]
    goal: Goal = field(init=False)
    context: Context = field(init=False)
    interpreter: Interpreter = field(init=False)
    candidates: list[Candidate] = field(init=False)
    notes: list[str] = field(default_factory=list)
    whole: bool = False
    """All remedies are tried together first."""

    def __post_init__(self) -> None:
        arm = self.diagnosis.arms[0]
        folder = self.wanted.store or cache_folder(self.store, arm.argv, arm.cwd)
        self.goal = goal_for(self.diagnosis, self.wanted.goal)
        self.context, self.interpreter = context_of(
            self.diagnosis, self.store.folder(self.diagnosis.id), self.goal, folder.resolve()
        )
        self.candidates = rank(
            self.context,
            REMEDIES,
            named=self.named,
            excluded=self.wanted.excluded,
            folklore=self.wanted.folklore,
        )

    def run(
        self, progress: Progress | None, attribute: Attribute | None, executor: Executor | None
    ) -> Fixed:
        self.whole = self._begins_with_all()
        if self.whole:
            self.candidates = self._fit_together()
        self.candidates = [self._prepared(one) for one in self.candidates]
        tried = self._tried()
        self.whole = self.whole and len(tried) > 1
        if self.whole:
            self.notes.append(
                f"{self.options.budget_s:.0f} s are too short for {len(tried)} remedies by "
                "themselves, so they were tried together first and then without each"
            )
        self._raise_pairs(len(tried))
        advice = tuple((one.title, text) for one in ADVICE if (text := one.text(self.context)))
        if not tried:
            trials = [self._judge(self.diagnosis).left_out(one, "") for one in self.candidates]
            arms = tuple(map(redact_arm, self.diagnosis.arms))
            result = replace(self.diagnosis, kind="fix", arms=arms, trials=tuple(trials))
            self.store.save(result)
            return Fixed(result, None, self.goal, advice)
        looks = Trials(
            self.options,
            self.goal,
            [one.remedy.id for one in tried],
            launch_s=self._launch_s(),
            choose=self._effective if self.whole else self._winners,
            make=self._make,
            whole=self.whole,
        )
        executor = executor or ProcessExecutor()
        if self.wanted.check:
            executor = CheckingExecutor(executor, self.wanted.check)
        result = session.measure(
            self._arms(tried),
            self.options,
            kind="fix",
            command=self.diagnosis.command,
            store=self.store,
            executor=executor,
            progress=progress,
            machine=self.diagnosis.machine,
            synced=False,
            attribute=attribute,
            looks=looks,
        )
        return self._finished(result, looks, advice)

    def _tried(self) -> list[Candidate]:
        return [one for one in self.candidates if not one.left_out]

    def _begins_with_all(self) -> bool:
        """Whether the budget is too short for each remedy by itself."""
        launch_s, remedies = self._launch_s(), len(self._tried())
        if self.options.launches is not None or remedies < 2:
            return False
        return not carries_each(self.options.budget_s, launch_s, remedies)

    def _fit_together(self) -> list[Candidate]:
        """Leave out what must not be, or cannot be, tried with all the others."""
        found: list[Candidate] = []
        for one in self.candidates:
            inside = [other.remedy for other in found if not other.left_out]
            why = one.left_out or self._apart(one.remedy, inside)
            found.append(one._replace(left_out=why))
        return found

    def _apart(self, remedy: Remedy, inside: Sequence[Remedy]) -> str:
        """Return why ``remedy`` cannot be tried with those ``inside``; empty when it can."""
        alone = f"the budget is too short to try it by itself; --remedy {remedy.id} does"
        larger = next((one for one in self._tried() if remedy.id in one.remedy.covers), None)
        if larger is not None:
            return f"it is part of {larger.remedy.id}"
        allowed = self.wanted.numerics or remedy.id in self.named
        if remedy.numerics == "may change" and not allowed:
            return f"results may change, and {alone}"
        other = clash(self.context, remedy, inside)
        return f"it cannot go with {other}, and {alone}" if other else ""

    def _prepared(self, one: Candidate) -> Candidate:
        if not one.left_out:
            try:
                one.remedy.prepare(self.context)
            except ColdsoakError as error:
                why = f": {error.why}" if error.why else ""
                return one._replace(left_out=f"it could not be prepared: {error.what}{why}")
        return one

    def _raise_pairs(self, remedies: int) -> None:
        """Take as many pairs as a verdict needs when so many remedies are compared."""
        asked = self.options.launches
        needed = minimum_n(corrected_level(remedies))
        if asked is not None and asked < needed:
            self.options = replace(self.options, launches=needed)
            self.notes.append(
                f"{needed} pairs instead of {asked}: with {plural(remedies, 'remedy', 'remedies')} and the placebo "
                "fewer cannot be clear"
            )

    def _launch_s(self) -> float:
        """Return what a launch of the unchanged command took in the diagnosis."""
        walls = [one.wall_ns / 1e9 for one in self.diagnosis.launches if one.kind == "timed"]
        return middle(walls) if walls else 0.0

    def _arms(self, tried: Sequence[Candidate]) -> list[Arm]:
        base = self._baseline()
        placebo = arm_of(PLACEBO_ARM, base, self.context, mix(self.context, [PLACEBO]))
        if self.whole:
            return [base, placebo, self._make(TOGETHER, [one.remedy.id for one in tried])]
        singles = [
            arm_of(one.remedy.id, base, self.context, mix(self.context, [one.remedy]))
            for one in tried
        ]
        return [base, placebo, *singles]

    def _baseline(self) -> Arm:
        return replace(self.diagnosis.arms[0], name=BASELINE)

    def _make(self, name: str, ids: Sequence[str]) -> Arm:
        return arm_of(name, self._baseline(), self.context, mix(self.context, self._remedies(ids)))

    def _remedies(self, ids: Sequence[str]) -> list[Remedy]:
        """Return remedies in the order of the catalogue, whatever the order of ``ids``."""
        return [remedy for remedy in REMEDIES if remedy.id in ids]

    def _judge(self, result: Result) -> Judge:
        level = corrected_level(1 if self.whole else len(self._tried()))
        return Judge(self.context, self.goal, self.store.folder(result.id), level)

    def _winners(self, result: Result) -> list[str]:
        """Return the remedies that may be in the recipe, those that save most first."""
        judge = self._judge(result)
        trials = [judge.trial(result, one) for one in self._tried()]
        good = [one for one in trials if not self._kept_out(judge, one)]
        covered = _covered(good)
        good = [one for one in good if one.remedy not in covered]
        return [one.remedy for one in sorted(good, key=_point)]

    def _effective(self, result: Result) -> list[str]:
        """Return the remedies in the whole that are not seen to have had no effect."""
        judge = self._judge(result)
        sides = Sides(BASELINE, TOGETHER)
        trials = [judge.trial(result, one, sides) for one in self._tried()]
        return [one.remedy for one in trials if one.took_effect is not False]

    def _kept_out(self, judge: Judge, trial: Trial) -> str:
        return judge.may_be_used(trial, numerics=self.wanted.numerics, named=self.named)

    def _finished(
        self, result: Result, looks: Trials, advice: tuple[tuple[str, str], ...]
    ) -> Fixed:
        judge = self._judge(result)
        trials = {
            one.remedy.id: judge.left_out(one, "")
            if one.left_out
            else judge.trial(result, one, looks.sides_of(one.remedy.id))
            for one in self.candidates
        }
        recipe, notes = self._recipe(result, looks, judge, trials)
        used = {one.remedy for one in recipe.ingredients} if recipe else set()
        comparisons = {
            arm.name: ratio
            for arm in result.arms[1:]
            if (ratio := judge.ratio(result, arm.name)) is not None
        }
        final = []
        for trial in trials.values():
            why = "" if trial.remedy in used else self._why_not(judge, trial)
            final.append(replace(trial, in_recipe=trial.remedy in used, why=trial.why or why))
        said = tuple(Note(code="fix", text=text) for text in (*self.notes, *looks.untested, *notes))
        result = replace(
            result,
            trials=tuple(final),
            comparisons=comparisons,
            recipe=recipe,
            notes=(*result.notes, *said),
        )
        self.store.save(result)
        return Fixed(result, recipe, self.goal, advice)

    def _why_not(self, judge: Judge, trial: Trial) -> str:
        """Say why a remedy that was tried and helped is not in the recipe all the same."""
        if trial.ratio is None or trial.ratio.verdict != "faster":
            return ""
        return self._kept_out(judge, trial) or "it adds nothing to the others, or is part of one"

    def _recipe(
        self, result: Result, looks: Trials, judge: Judge, trials: dict[str, Trial]
    ) -> tuple[Recipe | None, list[str]]:
        """Return the recipe of the best arm that is proved, and what is to be said about it."""
        notes: list[str] = []
        for members, arm in self._proposals(result, looks):
            planned = len(members) > 1 and not self.whole
            fixed = result.options.launches is not None or planned
            proof = ratio_of(result, self.goal, BASELINE, arm, fixed=fixed)
            if proof is None or proof.verdict != "faster":
                notes.append(f"{', '.join(members)} together are not shown to be faster")
                continue
            outputs = judge.outputs(result, arm)
            if outputs.state == "differ" and not self.wanted.numerics:
                notes.append(f"{', '.join(members)} together give other outputs: {outputs.why}")
                continue
            if self.whole and self._slows_later_runs(judge, result, members, arm):
                notes.append(f"with {', '.join(members)} together later runs become slower")
                continue
            recipe = recipe_of(
                result,
                self.goal,
                self.context,
                self.interpreter,
                self._remedies(members),
                arm=arm,
                proof=proof,
                trials=trials,
            )
            return recipe, notes
        return None, notes

    def _slows_later_runs(
        self, judge: Judge, result: Result, members: Sequence[str], arm: str
    ) -> bool:
        steady = judge.steady(result, BASELINE, arm)
        asked = set(members) <= set(self.named)
        return steady is not None and steady.verdict == "slower" and not asked

    def _proposals(self, result: Result, looks: Trials) -> list[tuple[list[str], str]]:
        """Return sets of remedies with the arm that had them, the best first."""
        found = looks.proposals(result)
        found += [([name], name) for name in self._winners(result)]
        return found


def _covered(trials: Sequence[Trial]) -> set[str]:
    """Return the remedies that are part of another one which is at least as fast."""
    points = {trial.remedy: _point(trial) for trial in trials}
    return {
        part
        for remedy in REMEDIES
        if remedy.id in points
        for part in remedy.covers
        if part in points and points[remedy.id] <= points[part]
    }


def _point(trial: Trial) -> float:
    return trial.ratio.estimate.point if trial.ratio else 1.0
