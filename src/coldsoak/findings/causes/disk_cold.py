"""Files came from storage and not from memory

The first process after a start of the machine, on a fresh container image or after memory was needed
elsewhere reads its libraries and data from storage. The next one finds them in memory, in other
containers too. Fault counters miss most of it, because the kernel reads ahead.

It fires when waiting for storage takes at least 20 ms and 5 % of the stretch in every traced launch,
or at least 5 ms while 64 MiB or more were read. It says how many bytes the launch read; below 1 MiB
it stays silent. With `--cold disk` that is what was asked for, and it says so.

Read-ahead of what is needed, a smaller set of packages and faster storage help; a warm page cache
helps the second process only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import Stake, emptied, fix, stake, worth
from coldsoak.findings.words import bytes_text, seconds_text, share_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "disk-cold"
SEVERITY: Severity = "cause"

_SHARE = 0.05
_LEAST_BYTES = 1 << 20
"""Below this, what looks like reading is the kernel's work on pages that are in memory."""
_MUCH = 64 << 20
_MUCH_S = 0.005


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm, or for the region that reads most."""
    for arm in view.result.arms:
        whole = stake(view, arm.name, Cause.PAGE_IN)
        read = _read(view, arm.name)
        counter = view.sources(arm.name).get("io")
        if counter is not None and counter.state == "on" and read < _LEAST_BYTES:
            continue
        much = read >= _MUCH and whole is not None and whole.least >= _MUCH_S
        if whole is not None and (much or worth(whole, share=_SHARE)):
            yield _finding(view, arm.name, whole, read)
            continue
        for name, series, _ in view.each():
            cost = stake(view, arm.name, Cause.PAGE_IN, series=series.id)
            if name == arm.name and cost is not None and worth(cost, share=_SHARE):
                yield _finding(view, arm.name, cost, read, series.id)
                break


def _read(view: View, arm: str) -> int:
    """Return the bytes that a launch read from storage; the counter is read now and then only."""
    return max(
        (
            line.evidence.bytes
            for ledger in view.ledgers(arm, "launch")
            for line in ledger.lines
            if line.cause is Cause.PAGE_IN
        ),
        default=0,
    )


def _finding(view: View, arm: str, cost: Stake, size: int, series: str = "") -> Finding:
    asked = emptied(view, "disk")
    where = f"in the first run of {view.name(series)}" if series else f"in {cost.of}"
    read = f"; {bytes_text(size)} were read in the launch" if size else ""
    file, line = view.place(view.series[series].start) if series else ("", 0)
    return Finding(
        code=CODE,
        severity="note" if asked else SEVERITY,
        text=(
            f"{seconds_text(cost.seconds)} {where}, {share_text(cost.share)} of it, is waiting for "
            f"storage{read}." + (" That is the cold state that was asked for." if asked else "")
        ),
        evidence=(cost.text, *((f"largest: {cost.named()}",) if cost.items else ())),
        advice=(fix(view, "os.readahead_recorded"),),
        file=file,
        line=line,
        series=series,
        arm=arm,
        seconds=cost.seconds,
    )
