"""What the start reads from the disk, read ahead by threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.model.recipe import Preheat
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.evidence import stages
from coldsoak.remedies.record import record
from coldsoak.remedies.setting import Setting

if TYPE_CHECKING:
    from coldsoak.model.result import Arm

__all__ = ["RecordedReadahead"]

FILE = "readahead.tsv"


class RecordedReadahead(Setting):
    """Read the parts of files that the start needs ahead of it, on threads.

    After a boot, or in a new container, nothing of the environment is in memory, and each page is
    read when the program stumbles over it. Of an installation of gigabytes a start needs a few per
    cent. They are recorded once, and at each start the kernel is asked for them at once. Where the
    files are in memory already this does nothing; it is tried with `--cold disk` only.
    """

    id = "os.readahead_recorded"
    title = "recorded pages read ahead"
    kind = "overlap"
    causes = frozenset({Cause.PAGE_IN, Cause.PAGE_FAULT})
    risks = ("other programs that load data at that moment share the disk with it",)

    def applies(self, context: Context) -> str:
        """Want launches with a cold page cache."""
        if "disk" not in context.diagnosis.options.cold:
            return "the files are in memory already; --cold disk measures without"
        return super().applies(context)

    def prepare(self, context: Context) -> None:
        """Run the command once to record what it reads."""
        arm: Arm = context.diagnosis.arms[0]
        record(
            arm.argv,
            context.store / FILE,
            environment=context.environment,
            folder=Path(arm.cwd) if arm.cwd else None,
        )

    def change(self, context: Context) -> Change:
        """Name the record to the stage."""
        return Change(preheat=Preheat(readahead=str(context.store / FILE)))

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Look for the reports of the threads."""
        found = [one for one in stages(context, seen.launch) if one.name.startswith("readahead")]
        done = [one for one in found if one.state == "done"]
        if not done:
            return Verified(effect=False, proof="the stage did not run")
        last = max(one.end_ms for one in done)
        return Verified(effect=True, proof=f"read {last:.0f} ms after the start")
