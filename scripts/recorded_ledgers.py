"""Print the region ledgers of the traces that are kept in tests/data, as tables for docs/gpu.md.

    python scripts/recorded_ledgers.py                 all recordings
    python scripts/recorded_ledgers.py tensorflow jax  some of those by CUPTI alone

The traces were recorded on a card; the causes are found anew by the rules of this version.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import msgspec

from coldsoak import ledger
from coldsoak.model.result import Launch
from coldsoak.model.trace import Trace

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "ledger"
LEAST_MS = 0.5


def recorded(name):
    with gzip.open(DATA / f"{name}.trace.gz") as file:
        trace = msgspec.msgpack.decode(file.read(), type=Trace)
    launch = msgspec.json.decode((DATA / f"{name}.launch.json").read_bytes(), type=Launch)
    return [one for one in ledger.attribute(trace, launch) if one.scope == "region"]


def table(name, ledgers):
    """One row a region, one column a cause of any of them that is worth a column."""
    rows = [{line.cause.value: line.ns / 1e6 for line in one.lines} for one in ledgers]
    causes = sorted(
        {cause for row in rows for cause, ms in row.items() if abs(ms) >= LEAST_MS},
        key=lambda cause: (cause == "unattributed", -sum(row.get(cause, 0) for row in rows)),
    )
    lines = [f"{name}, run 0, ms", ""]
    lines.append("| region | " + " | ".join(["total", *(f"`{cause}`" for cause in causes)]) + " |")
    lines.append("|---|" + "--:|" * (len(causes) + 1))
    for one, row in zip(ledgers, rows, strict=True):
        cells = [f"{one.total_ns / 1e6:,.1f}", *(f"{row.get(cause, 0):,.1f}" for cause in causes)]
        lines.append(f"| {one.series} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    known = sorted(file.name.partition(".")[0] for file in DATA.glob("*.trace.gz"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=" or ".join(known))
    for name in parser.parse_args().names or known:
        print(table(name, recorded(name)))


if __name__ == "__main__":
    main()
