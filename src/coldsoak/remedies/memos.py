"""Recorded answers: made once by the command's interpreter, replayed by a stage of preheat."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, ClassVar

from coldsoak.errors import CommandFailed
from coldsoak.launch.command import find_python, resolve
from coldsoak.model.recipe import Preheat
from coldsoak.remedies.apply import INJECT
from coldsoak.remedies.base import Change, Verified
from coldsoak.remedies.evidence import stages
from coldsoak.remedies.setting import Setting

if TYPE_CHECKING:
    from pathlib import Path

    from coldsoak.remedies.base import Context, Seen

__all__ = ["Memo", "memo_file", "record_memo", "verify_memo"]

_RECORD = """\
import sys
sys.path.append({inject!r})
from coldsoak_agent import preheat_{stage} as stage
from coldsoak_agent.preheat import Unfit
try:
    stage.record({path!r})
except Unfit as reason:
    sys.exit(str(reason))
"""
_TIMEOUT_S = 600.0
"""A trial that hangs is given up by torch after a minute; there are about ten."""


class Memo(Setting):
    """A remedy that has a stage of preheat replay answers, which are recorded when it is prepared."""

    stage: ClassVar[str]

    def prepare(self, context: Context) -> None:
        """Record the answers."""
        record_memo(context, self.stage)

    def change(self, context: Context) -> Change:
        """Name the record to the stage."""
        return Change(preheat=Preheat(memos={self.stage: str(memo_file(context, self.stage))}))


def memo_file(context: Context, stage: str) -> Path:
    """Return where the answers for a stage of preheat are kept."""
    return context.store / "memos" / f"{stage}.json"


def record_memo(context: Context, stage: str) -> None:
    """Have the command's interpreter record the answers for a stage, in a process of its own.

    Raises:
        CommandFailed: They cannot be recorded with what is installed there.

    """
    arm = context.diagnosis.arms[0]
    program = resolve(arm.argv, cwd=arm.cwd, path=context.environment.get("PATH"))
    python = find_python(program)
    if python is None:
        raise CommandFailed("The command is not a Python program.")
    file = memo_file(context, stage)
    file.unlink(missing_ok=True)
    text = _RECORD.format(inject=INJECT, stage=stage, path=str(file))
    try:
        done = subprocess.run(
            [python, "-c", text],
            env=dict(context.environment),
            cwd=arm.cwd or None,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"Recording did not end in {_TIMEOUT_S:g} s.") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        said = [line for line in lines if line.strip()]
        raise CommandFailed("recording ended with an error", why=said[-1] if said else "")


def verify_memo(context: Context, seen: Seen, *names: str) -> Verified:
    """Tell by what the stages ``names`` of preheat reported: each answer that was replayed."""
    found = {one.name: one for one in stages(context, seen.launch) if one.name in names}
    done = [found[name].text for name in names if name in found and found[name].state == "done"]
    if done:
        return Verified(effect=True, proof=", ".join(done))
    off = [f"{one.name} {one.state}: {one.text}" for one in found.values() if one.text]
    return Verified(effect=False, proof="; ".join(off) or "nothing was asked for")
