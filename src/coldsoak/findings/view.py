"""A result with the look-ups that rules need, each made once."""

from __future__ import annotations

from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.source import Source
from coldsoak.stats.series import by_series
from coldsoak.stats.summary import lead, usable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.model.facts import Event, Facts, Work
    from coldsoak.model.ledger import Ledger
    from coldsoak.model.result import (
        Arm,
        Case,
        Device,
        Execution,
        Launch,
        LaunchKind,
        Result,
        Series,
        SeriesSummary,
        Site,
        SourceState,
        Summary,
    )

__all__ = ["View"]

_LACKS = {"on": 0, "lost": 1, "off": 2}


class View:
    """Reads a result; never changes it."""

    def __init__(self, result: Result) -> None:
        self.result = result

    @cached_property
    def series(self) -> dict[str, Series]:
        """Every series by id."""
        return {series.id: series for series in self.result.series}

    @cached_property
    def _arms(self) -> dict[str, Arm]:
        return {arm.name: arm for arm in self.result.arms}

    @cached_property
    def _summaries(self) -> dict[tuple[str, str], SeriesSummary]:
        return {(s.arm, s.series): s for one in self.result.summaries for s in one.series}

    @cached_property
    def gpus(self) -> tuple[Device, ...]:
        """The graphics cards of the machine."""
        return tuple(d for d in self.result.machine.devices if d.kind == "gpu")

    def arm(self, name: str) -> Arm | None:
        """Return an arm by name."""
        return self._arms.get(name)

    def case(self, arm: str) -> Case | None:
        """Return what an arm of a bench computes; None for ``run``."""
        found = self._arms.get(arm)
        return found.case if found else None

    def summary(self, arm: str, series: str) -> SeriesSummary | None:
        """Return the summary of a series in an arm."""
        return self._summaries.get((arm, series))

    def lead(self, summary: Summary) -> SeriesSummary | None:
        """Return the series with the largest cold overhead, else the slowest run 0."""
        return lead(summary.series)

    def each(self) -> Iterator[tuple[str, Series, SeriesSummary]]:
        """Yield arm, series and summary of everything that was timed, in program order."""
        for summary in self.result.summaries:
            known = [(self.series[s.series], s) for s in summary.series if s.series in self.series]
            for series, found in sorted(known, key=lambda pair: pair[0].order):
                yield summary.arm, series, found

    def launches(self, arm: str, kind: LaunchKind = "timed") -> list[Launch]:
        """Return the launches of ``arm`` that count: ok, valid, not round 0."""
        return usable(self.result.launches, arm, kind)

    @cached_property
    def _executions(self) -> dict[tuple[int, str], list[Execution]]:
        return {
            (launch.index, series): runs
            for launch in self.result.launches
            for series, runs in by_series(launch).items()
        }

    def executions(self, launch: Launch, series: str) -> list[Execution]:
        """Return the executions of a series in one launch, by run."""
        return self._executions.get((launch.index, series), [])

    def runs(self, arm: str, series: str, kind: LaunchKind = "timed") -> list[list[Execution]]:
        """Return one row of executions, by run, for each launch that executed the series."""
        rows = (self.executions(launch, series) for launch in self.launches(arm, kind))
        return [row for row in rows if row]

    def typical(self, arm: str, series: str) -> list[float]:
        """Return the median wall seconds of each run over the timed launches.

        Runs that fewer than half of the launches have are left out.
        """
        rows = self.runs(arm, series)
        most = max(map(len, rows), default=0)
        columns = [[row[i].wall for row in rows if i < len(row)] for i in range(most)]
        return [median(column) for column in columns if 2 * len(column) >= len(rows)]

    def facts(self, arm: str) -> list[Facts]:
        """Return the facts of the traced launches of ``arm``."""
        return [launch.facts for launch in self.launches(arm, "traced") if launch.facts]

    def work(self, arm: str, series: str) -> list[list[Work]]:
        """Return the device work of a series, one row of runs for each traced launch."""
        rows = [
            sorted((w for w in facts.work if w.series == series), key=lambda w: w.run)
            for facts in self.facts(arm)
        ]
        return [row for row in rows if row]

    def events(self, arm: str, source: str, name: str = "") -> list[Event]:
        """Return events of a source, of all traced launches; with ``name``, only those."""
        return [
            event
            for facts in self.facts(arm)
            for event in facts.events
            if event.source == source and name in {"", event.name}
        ]

    def ledgers(self, arm: str, scope: str, series: str = "") -> list[Ledger]:
        """Return the ledgers of one stretch, one for each traced launch that counts."""
        counted = {launch.index for launch in self.launches(arm, "traced")}
        return [
            ledger
            for ledger in self.result.ledgers
            if ledger.arm == arm
            and ledger.scope == scope
            and ledger.launch in counted
            and series in {"", ledger.series}
        ]

    def sources(self, arm: str) -> dict[str, SourceState]:
        """Return the sources of evidence by name, each as in the traced launch that lacks most."""
        seen: dict[str, SourceState] = {}
        for launch in self.launches(arm, "traced"):
            for source in launch.sources:
                known = seen.get(source.name)
                if known is None or _LACKS[source.state] > _LACKS[known.state]:
                    seen[source.name] = source
        return seen

    def env(self, arm: str) -> dict[str, str]:
        """Return the environment of the launches of ``arm``."""
        found = self._arms.get(arm)
        changes = found.env if found else {}
        merged = {**self.result.environment, **changes}
        return {name: value for name, value in merged.items() if value is not None}

    def packages(self, arm: str) -> set[str]:
        """Return the top-level packages that the timed launches imported."""
        return {
            cost.package
            for launch in self.launches(arm)
            for process in launch.processes
            for cost in process.imports
        }

    @cached_property
    def _sources(self) -> dict[str, Source]:
        return {file: Source(file, text) for file, text in self.result.sources.items()}

    def source(self, file: str) -> Source | None:
        """Return a file of the user's, when the result has it."""
        return self._sources.get(file)

    @property
    def files(self) -> list[Source]:
        """The user's files that the result has."""
        return list(self._sources.values())

    def line(self, site: Site | None) -> str:
        """Return the text of a place, stripped; empty when the result has not got the file."""
        source = self.source(site.file) if site else None
        return source.line(site.line) if source and site else ""

    def place(self, site: Site | None) -> tuple[str, int]:
        """Return the file and line of a place as a finding gives them."""
        return (site.file, site.line) if site else ("", 0)

    def name(self, series: str) -> str:
        """Return a series as a sentence names it: ``time_matmul with device=GPU:0``.

        Of its case only what tells it from the series of the same place is said.
        """
        found = self.series.get(series)
        if found is None:
            return "the region"
        suffix = "".join(f" {key}={value}" for key, value in found.case.items())
        label = found.label.removesuffix(suffix).partition(" (")[0]
        family = [s for s in self.result.series if (s.start, s.end) == (found.start, found.end)]
        told: dict[tuple[str, ...], str] = {}
        for key, value in found.case.items():
            values = tuple(s.case.get(key, "") for s in family)
            if len(set(values)) > 1:
                told.setdefault(values, f"{key}={value.strip(chr(39))}")
        return f"{label} with {', '.join(told.values())}" if told else label
