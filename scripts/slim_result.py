"""Make a test fixture of a stored result: what findings read, without what tells on the machine.

    python scripts/slim_result.py RESULT_FOLDER tests/data/findings/NAME.json.gz [OLD=NEW ...]

Each OLD=NEW replaces a text everywhere, for paths. Sources that the result has not got are read
from the folder that the command ran in, when they are still there.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from msgspec.structs import replace

from coldsoak.launch.store import encode_result, read_result
from coldsoak.model.result import Machine, Process, Result
from coldsoak.pipeline import attributed, sources_of

LIBRARIES = 0
"""Paths of libraries that are kept: findings of this set read none."""


def slim(result: Result) -> Result:
    """Return ``result`` without environment, stretches, conditions and identities."""
    machine = result.machine
    devices = tuple(replace(device, uuid="", pci="") for device in machine.devices)
    launches = tuple(
        replace(
            launch,
            processes=tuple(map(_process, launch.processes[:1])),
            children=(),
            trace="",
            log="",
            facts=launch.facts
            and replace(launch.facts, libraries=launch.facts.libraries[:LIBRARIES]),
        )
        for launch in result.launches
    )
    return replace(
        result,
        machine=Machine(cpu=machine.cpu, cores=machine.cores, devices=devices),
        environment={},
        launches=launches,
        findings=(),
        arms=tuple(replace(arm, cwd="") for arm in result.arms),
        ledgers=tuple(ledger for ledger in result.ledgers if ledger.scope != "launch"),
    )


def _process(process: Process) -> Process:
    dear = tuple(cost for cost in process.imports if cost.self_ns > 2_000_000)
    return replace(process, imports=dear, stretches=())


def main() -> None:
    folder, target, *changes = sys.argv[1:]
    result = attributed(read_result(Path(folder) / "result.json"), Path(folder))
    result = replace(result, sources=result.sources or sources_of(result))
    text = encode_result(slim(result)).decode()
    for change in changes:
        old, _, new = change.partition("=")
        text = text.replace(old, new)
    file = Path(target)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
