"""Launches as real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from coldsoak.errors import UsageError
from coldsoak.launch import observed
from coldsoak.launch.coldness import Coldness, parse_cold
from coldsoak.launch.command import resolve
from coldsoak.launch.conditions import DEFAULT_LIMITS, Limits, Probe, invalid_reason
from coldsoak.launch.gpu import Gpus
from coldsoak.launch.logs import log_path
from coldsoak.launch.perfready import looking
from coldsoak.launch.request import LaunchInterrupted, Request
from coldsoak.launch.running import Start, run
from coldsoak.launch.until import already_met, parse_until, watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.model.result import Arm, Launch, Options, Series

__all__ = ["INJECT", "ProcessExecutor"]

INJECT = Path(__file__).resolve().parents[1] / "inject"
"""Folder that goes in front of ``PYTHONPATH``."""

_CONTRACT = ("SPOOL", "MODE", "T0", "SOURCES", "RERUN", "TF1", "PERF_OWNER")
_SAMPLE_S = {"timed": 0.1, "synced": 0.1, "traced": 0.02}


class ProcessExecutor:
    """Runs each request as a fresh process tree.

    Args:
        echo: Show the command's output live, byte for byte, as well as logging it.
        stdin: As for ``subprocess``; nothing to read by default.
        grace_s: Seconds between SIGTERM and SIGKILL when a launch has to be stopped.
        limits: Conditions beyond which a launch is marked invalid.
        environment: What commands get; None for this process's own.
        sources: Sources of a traced launch; None for every one that is installed.
        log_limit: Bytes of output after which a launch is stopped.
        keep_spool: Leave the agents' own files in the result's folder.
        read_report: Finds what a bench worker reported; fills ``Launch.data``.

    """

    def __init__(
        self,
        *,
        echo: bool = False,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        grace_s: float = 5.0,
        limits: Limits = DEFAULT_LIMITS,
        environment: Mapping[str, str] | None = None,
        sources: Sequence[str] | None = None,
        log_limit: int = 1 << 30,
        keep_spool: bool = False,
        read_report: observed.ReadReport | None = None,
    ) -> None:
        self.gpus = Gpus.open()
        self._echo = echo
        self._stdin = stdin
        self._grace_s = grace_s
        self._limits = limits
        self._environment = environment
        self._sources = tuple(sources) if sources is not None else installed_sources()
        self._log_limit = log_limit
        self._keep_spool = keep_spool
        self._read_report = read_report
        self._series: dict[str, Series] = {}
        self._coldness: Coldness | None = None

    @property
    def series(self) -> tuple[Series, ...]:
        """Every series seen so far, in the order in which they were first seen."""
        return tuple(self._series.values())

    def check(self, arms: Sequence[Arm], options: Options) -> None:
        """Raise ``UsageError`` for a command, condition or cold state that cannot work."""
        until = parse_until(options.until)
        parse_cold(",".join(options.cold))
        for arm in arms:
            resolve(arm.argv, cwd=arm.cwd, path=self._env_of(arm).get("PATH"))
        if already_met(until):
            raise UsageError(
                f"{options.until} is answered before the first launch.",
                why="another server is running there already",
                do="stop it, or give the command another port",
            )

    def launch(self, request: Request) -> Launch:
        """Run one launch to its end and read what it left.

        Raises:
            UsageError: It cannot be started, or its cold state cannot be made.
            LaunchInterrupted: Ctrl-C or SIGTERM; the launch so far comes with it.

        """
        spool = request.folder / "spool" / f"{request.index:03d}"
        with ExitStack() as cleanup:
            if not self._keep_spool:
                cleanup.callback(_remove, spool)
            try:
                spool.mkdir(parents=True, exist_ok=True)
                launch, interrupted = self._launch(request, spool)
            except OSError as error:
                raise _unwritable(request.folder, error) from error
        if interrupted:
            raise LaunchInterrupted(launch)
        return launch

    def _launch(self, request: Request, spool: Path) -> tuple[Launch, bool]:
        arm, options = request.arm, request.options
        env = self._env_of(arm)
        file = resolve(arm.argv, cwd=arm.cwd, path=env.get("PATH"))
        coldness = self._coldness_of(options)
        with coldness.prepared(file, arm.argv, arm.cwd, env) as cold:
            env |= {name: value for name, value in cold.env.items() if name not in arm.env}
            env |= self._contract(request, spool, env)
            probe = Probe(self.gpus)
            with looking(spool, env.get("COLDSOAK_SOURCES", "").split(",")):
                ended = run(self._start(request, file, env, spool, maps=coldness.wants_maps))
            conditions = probe.finish()
        if coldness.wants_maps:
            coldness.learn(arm.argv, ended.tree.mapped)
        launch, series = observed.build(
            request,
            ended,
            spool=spool,
            file=file,
            conditions=conditions,
            notes=cold.notes,
            read_report=self._read_report,
        )
        for one in series:
            self._series.setdefault(one.id, one)
        if not launch.invalid and not ended.interrupted:
            launch = msgspec.structs.replace(
                launch, invalid=invalid_reason(conditions, self._limits)
            )
        return launch, ended.interrupted

    def _coldness_of(self, options: Options) -> Coldness:
        if self._coldness is None or self._coldness.levels != options.cold:
            self._coldness = Coldness(options.cold)
        return self._coldness

    def _env_of(self, arm: Arm) -> dict[str, str]:
        env = dict(os.environ if self._environment is None else self._environment)
        for name in _CONTRACT:
            env.pop(f"COLDSOAK_{name}", None)
        for name, value in arm.env.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        return env

    def _contract(self, request: Request, spool: Path, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of ``docs/architecture.md``; COLDSOAK_T0 is added at the spawn."""
        options = request.options
        path = env.get("PYTHONPATH")
        values = {
            "PYTHONPATH": os.pathsep.join([str(INJECT), path]) if path else str(INJECT),
            "COLDSOAK_SPOOL": str(spool.resolve()),
            "COLDSOAK_MODE": request.kind,
        }
        if request.kind == "traced":
            off = options.sources_off
            named = [f"-{name}" if name in off else name for name in self._sources]
            values["COLDSOAK_SOURCES"] = ",".join(named)
        if options.rerun > 1:
            values["COLDSOAK_RERUN"] = str(options.rerun)
        if options.tf1:
            values["COLDSOAK_TF1"] = "1"
        return values

    def _start(
        self, request: Request, file: str, env: Mapping[str, str], spool: Path, *, maps: bool
    ) -> Start:
        options = request.options
        log = request.folder / log_path(request.index)
        return Start(
            file=file,
            argv=request.arm.argv,
            cwd=request.arm.cwd,
            env=env,
            spool=spool.resolve(),
            inject=str(INJECT),
            log=log,
            stdin=self._stdin,
            watcher=watch(parse_until(options.until), spool_folder=spool, log=log),
            condition=options.until,
            timeout_s=options.timeout_s,
            grace_s=self._grace_s,
            sample_s=_SAMPLE_S[request.kind],
            maps=maps and request.round == 0,
            echo=self._echo,
            log_limit=self._log_limit,
        )


def installed_sources() -> tuple[str, ...]:
    """Return the names of the agent's sources, sorted."""
    folder = INJECT / "coldsoak_agent" / "sources"
    names = (file.stem for file in folder.glob("*.py"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"The files of a launch cannot be written to {folder}.",
        why=str(error),
        do="make room, or set COLDSOAK_HOME to another disk",
    )


def _remove(spool: Path) -> None:
    shutil.rmtree(spool, ignore_errors=True)
    try:
        spool.parent.rmdir()
    except OSError:
        return
