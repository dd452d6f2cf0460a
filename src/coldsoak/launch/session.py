"""A session: launches until the answer is good enough, and a saved result after each of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from coldsoak import __version__
from coldsoak.errors import ColdsoakError, NothingMeasured
from coldsoak.launch import failures, redact
from coldsoak.launch.gpu import CoolDown
from coldsoak.launch.guard import guarding
from coldsoak.launch.looks import Looks
from coldsoak.launch.progress import Progress, Silent
from coldsoak.launch.request import Executor, LaunchInterrupted, Request
from coldsoak.launch.room import Room
from coldsoak.launch.running import interruptible
from coldsoak.launch.schedule import EXTRA_SHARE, Costs, Extras, Permuter, Round
from coldsoak.model.result import Arm, Launch, Machine, Note, Options, Result, StoppedBy
from coldsoak.stats import summary

if TYPE_CHECKING:
    from coldsoak.launch.store import Store

__all__ = ["Attribute", "measure"]

Attribute = Callable[[Result, Path], Result]
"""Adds to a result what its traces, which lie in the folder, tell: ledgers and facts."""


def measure(
    arms: Sequence[Arm],
    options: Options,
    *,
    kind: Literal["run", "bench", "fix"],
    command: Sequence[str],
    store: Store,
    executor: Executor,
    progress: Progress | None = None,
    machine: Machine | None = None,
    synced: bool | None = None,
    ignore_failure: bool = False,
    attribute: Attribute | None = None,
    looks: Looks | None = None,
    cool_down: Callable[[], float] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Measure ``arms`` in fresh processes and return the saved result.

    Ctrl-C and SIGTERM end the session early: the result is returned with ``complete=False`` and
    has everything that was measured until then, the interrupted launch included.

    Args:
        arms: What to launch; for ``fix`` the first is the baseline of every pair.
        options: What the user asked for.
        kind: Of the result.
        command: As the user typed it, for the result and its id.
        store: Where the result is saved, after every launch.
        executor: Runs the launches.
        progress: Hears what happens.
        machine: Described by the caller.
        synced: Whether to add launches that wait for the device at the end of each region; None
            for yes when the machine has a GPU or the program imports JAX.
        ignore_failure: Count launches with a non-zero exit status as valid.
        attribute: Adds ledgers and facts at the end.
        looks: Decides when to stop and which arms take part in the next round; an arm that is
            new gets a discarded launch first.
        cool_down: Called between launches, returns the seconds that it waited; None for waiting
            on warm cards where the executor has any.
        clock: Seconds; for tests.

    Raises:
        UsageError: The command cannot be started, or the result cannot be written.
        CommandFailed: It fails in its first launch. The result so far is saved.
        NothingMeasured: No timed launch was valid. The result is saved.

    """
    executor.check(arms, options)
    session = _Session(
        arms=arms,
        options=options,
        kind=kind,
        command=tuple(command),
        store=store,
        executor=executor,
        progress=progress or Silent(),
        machine=machine or Machine(),
        ignore_failure=ignore_failure,
        looks=looks or Looks(paired=kind == "fix", options=options),
        cool_down=cool_down or _card_cool_down(executor),
        clock=clock,
    )
    if synced is None:
        synced = any(device.kind == "gpu" for device in session.result.machine.devices)
    with interruptible(), guarding():
        return session.run(synced=synced, attribute=attribute)


def _card_cool_down(executor: Executor) -> Callable[[], float] | None:
    gpus = getattr(executor, "gpus", None)
    return CoolDown(gpus) if gpus is not None else None


class _GivenUpError(Exception):
    """Too many launches were invalid."""


class _Session:
    def __init__(
        self,
        *,
        arms: Sequence[Arm],
        options: Options,
        kind: Literal["run", "bench", "fix"],
        command: tuple[str, ...],
        store: Store,
        executor: Executor,
        progress: Progress,
        machine: Machine,
        ignore_failure: bool,
        looks: Looks,
        cool_down: Callable[[], float] | None,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._executor = executor
        self._progress = progress
        self._ignore_failure = ignore_failure
        self._cool_down = cool_down
        self._clock = clock
        self._began = clock()
        self._order = Permuter(options.seed)
        self._costs = Costs()
        self._replacements = failures.Replacements()
        self._arms = list(arms)
        self._extras = Extras((), 0.0)
        self._looks = looks
        self._stopped: StoppedBy | None = None
        limited = kind == "bench" and len(arms) > 1 and options.launches is None
        self._room = Room(arms, options.budget_s if limited else None)
        self.result = Result(
            version=__version__,
            id=store.create(redact.redact_command(command)),
            kind=kind,
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            command=redact.redact_command(command),
            options=options,
            machine=machine,
            environment=redact.redact(dict(os.environ)),
            arms=tuple(map(redact.redact_arm, arms)),
        )

    def run(self, *, synced: bool, attribute: Attribute | None) -> Result:
        """Go through the rounds, then sum up."""
        self._extras = self._wanted(synced=synced)
        try:
            self._save()
            self._progress.begin(self.result)
            self._measure()
            self._sum_up(complete=self._stopped != "failure")
            if attribute is not None:
                self.result = attribute(self.result, self._store.folder(self.result.id))
                self._save()
        except KeyboardInterrupt as interrupt:
            if isinstance(interrupt, LaunchInterrupted):
                self._add(interrupt.launch)
            self._stopped = "interrupted"
            self._sum_up(complete=False)
        except ColdsoakError:
            self._stopped = "failure"
            self._sum_up(complete=False)
            raise
        finally:
            self._progress.end(self.result)
        if self._stopped != "interrupted" and not self._valid_timed():
            raise NothingMeasured(
                "No launch gave a number.",
                why=self._last_reason(),
                do=f"coldsoak report {self.result.id} shows every launch",
            )
        return self.result

    def _wanted(self, *, synced: bool) -> Extras:
        options = self.result.options
        allowance = float("inf") if options.launches else options.budget_s * EXTRA_SHARE
        return Extras(self._looks.extras(synced=synced), allowance)

    def _queues_on_the_cpu(self) -> bool:
        """Tell whether the program computes with JAX, whose calls return early on any device."""
        return self.result.kind == "run" and any(
            cost.package == "jax"
            for launch in self.result.launches
            for process in launch.processes
            for cost in process.imports
        )

    def _measure(self) -> None:
        try:
            self._rounds()
        except _GivenUpError as error:
            self._stopped = "failure"
            self._note("too_many_invalid", str(error))

    def _rounds(self) -> None:
        self._round(Round("timed", 0))
        self._leave_out()
        if self._queues_on_the_cpu():
            self._extras = self._wanted(synced=True)
        timed = 0
        reason: StoppedBy | None = None
        while reason is None:
            timed += 1
            self._round(Round("timed", timed))
            self._extra(timed)
            reason = self._decide()
            if reason is None:
                self._take(self._looks.arms(self.result, self._arms))
        self._stopped = reason
        while self._affordable() and self._extra(timed):
            continue
        launches = self.result.launches
        untimed = [arm for arm in self._arms if not summary.usable(launches, arm.name)]
        for code, text in self._room.said(untimed):
            self._note(code, text)

    def _leave_out(self) -> None:
        """Go on without the arms for which there is no time."""
        out = {arm.name for arm in self._room.unopened}
        if out:
            self._arms = [arm for arm in self._arms if arm.name not in out]
            self._update(arms=tuple(arm for arm in self.result.arms if arm.name not in out))

    def _affordable(self) -> bool:
        """Whether the next extra round still fits: what was reserved for them is theirs."""
        kind = self._extras.next(self._costs)
        if kind is None or self.result.options.launches is not None:
            return kind is not None
        return self._elapsed() + self._costs.of(kind) <= self.result.options.budget_s

    def _extra(self, timed: int) -> bool:
        """Run the next extra round if one is due; returns whether there was one."""
        kind = self._extras.next(self._costs)
        if kind is None:
            return False
        before = self._elapsed()
        self._round(Round(kind, timed))
        self._extras.done(kind, self._elapsed() - before)
        return True

    def _decide(self) -> StoppedBy | None:
        return self._looks.decide(
            self.result,
            self._arms,
            elapsed_s=self._elapsed() + self._extras.reserved_s(self._costs),
            cost_s=self._costs.of("timed"),
        )

    def _take(self, arms: Sequence[Arm]) -> None:
        """Go on with ``arms``; those that were never launched get their discarded launch."""
        known = {arm.name for arm in self.result.arms}
        new = [arm for arm in arms if arm.name not in known]
        self._arms = list(arms)
        if new:
            self._executor.check(new, self.result.options)
            self._update(arms=(*self.result.arms, *map(redact.redact_arm, new)))
            for position, arm in enumerate(new):
                self._until_valid(Round("timed", 0), arm, position)

    def _round(self, this: Round) -> None:
        """Launch each arm once, in random order; where time is short, round 0 in that of the plan."""
        before = self._elapsed()
        planned = self._room.limited and this.number == 0
        arms = list(self._arms) if planned else self._order.order(self._arms)
        fitted = 0
        for position, arm in enumerate(arms):
            began = self._elapsed()
            if self._room.fits(this, arm, began):
                fitted += 1
                self._until_valid(this, arm, position)
                self._room.book(this, arm, self._elapsed() - began)
        if fitted == len(arms) or this.number == 0:  # what round 0 leaves out has no other round
            self._costs.book(this.kind, self._elapsed() - before)

    def _until_valid(self, this: Round, arm: Arm, position: int) -> None:
        """Launch an arm in its round; an invalid launch is replaced at once, so pairs stay pairs."""
        while True:
            launch = self._launch(this, arm, position)
            if launch.status == "ok" and not launch.invalid:
                return
            if this.kind != "timed":
                self._extra_failed(this, arm, launch)
                return
            if this.number == 0:
                self._failed_first(arm, launch)
                return
            valid = len(self._valid_timed())
            if valid and self._late():
                return
            if not self._replacements.grant(launch, valid=valid):
                raise _GivenUpError(
                    f"{self._replacements.count} launches were invalid and at most 20 % are "
                    f"replaced, so the session stopped; the last one: {failures.describe(launch)}"
                )

    def _extra_failed(self, this: Round, arm: Arm, launch: Launch) -> None:
        """Say that looking closer failed; the timed launches are not touched by it."""
        of = f" of {arm.name}" if len(self.result.arms) > 1 else ""
        self._note(
            f"{this.kind}_invalid",
            f"{this.kind} launch {launch.index}{of} does not count: {failures.describe(launch)}",
        )

    def _launch(self, this: Round, arm: Arm, position: int) -> Launch:
        self._wait_for_cards()
        request = Request(
            arm=arm,
            kind=this.kind,
            round=this.number,
            index=len(self.result.launches),
            position=position,
            options=self.result.options,
            folder=self._store.folder(self.result.id),
        )
        expected, remaining = self._forecast()
        self._progress.launching(
            request, done=request.index, expected=expected, remaining_s=remaining
        )
        return self._add(self._executor.launch(request))

    def _add(self, launch: Launch) -> Launch:
        if self._ignore_failure:
            launch = failures.accept(launch)
        launch = self._replacements.tolerate(launch)
        self._update(launches=(*self.result.launches, launch), series=self._executor.series)
        self._progress.launched(launch)
        return launch

    def _wait_for_cards(self) -> None:
        if (
            self._cool_down is not None
            and self.result.launches
            and self.result.launches[-1].conditions.gpu
        ):
            waited = self._cool_down()
            if waited > 0.1:
                self._progress.waiting(f"waited {waited:.1f} s for the graphics card to cool down")

    def _failed_first(self, arm: Arm, launch: Launch) -> None:
        """Take an arm that cannot work out of the session; the last one ends it."""
        if launch.status == "ok":
            return
        baseline = self.result.kind == "fix" and arm.name == self.result.arms[0].name
        if len(self._arms) == 1 or baseline:
            raise failures.command_failed(arm, launch, self._store.folder(self.result.id))
        self._arms = [one for one in self._arms if one.name != arm.name]
        self._note(
            "arm_failed",
            f"{arm.name} was left out: {failures.describe(launch)}: {failures.last_words(launch, 1)}",
        )

    def _forecast(self) -> tuple[int, float]:
        """Return launches expected in all and seconds left, from the costs so far."""
        return self._looks.forecast(
            self.result, len(self._arms), self._costs, self._extras, elapsed_s=self._elapsed()
        )

    def _valid_timed(self) -> list[Launch]:
        names = {arm.name for arm in self.result.arms}
        launches = self.result.launches
        return [one for name in names for one in summary.usable(launches, name)]

    def _last_reason(self) -> str:
        if not self.result.launches:
            return "nothing was launched"
        return failures.describe(self.result.launches[-1])

    def _elapsed(self) -> float:
        return self._clock() - self._began

    def _late(self) -> bool:
        """Whether the time is spent, where there is a limit."""
        options = self.result.options
        return options.launches is None and self._elapsed() > options.budget_s

    def _sum_up(self, *, complete: bool) -> None:
        by = self._stopped or "failure"
        self.result = msgspec.structs.replace(self.result, complete=complete)
        summaries = summary.summarise(
            self.result, stopped_by={arm.name: by for arm in self.result.arms}
        )
        self._update(summaries=summaries)

    def _note(self, code: str, text: str) -> None:
        self._update(notes=(*self.result.notes, Note(code=code, text=text)))

    def _update(self, **changes: object) -> None:
        self.result = msgspec.structs.replace(self.result, **changes)
        self._save()

    def _save(self) -> None:
        self._store.save(self.result)
