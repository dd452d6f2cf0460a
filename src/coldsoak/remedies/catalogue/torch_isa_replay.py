"""torch.compile with recorded trials of vector instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Verified
from coldsoak.remedies.memos import Memo, verify_memo

if TYPE_CHECKING:
    from coldsoak.model.result import Launch
    from coldsoak.remedies.base import Context, Seen

__all__ = ["RecordedTrials", "keeps_trials", "trials_of"]

KEPT_SINCE = (2, 14)
"""torch writes a file beside each trial that loaded, and looks for it."""
_LOADS = "cdll.LoadLibrary("


class RecordedTrials(Memo):
    """Answer Inductor's trials of vector instructions from a record.

    Up to torch 2.13 a process that compiles for the processor starts a Python process for each set
    of vector instructions, to see whether code with it loads, even when all compiled code comes from
    the cache; in torch 2.11 each of them imports torch. The trials are made once and recorded with
    the processor, the compiler, torch and its libraries; in the program those that succeeded are
    answered from the record. Where anything of that is another one, the trials are made as always.
    From 2.14 on torch keeps the answers itself.
    """

    id = "torch.isa_replay"
    title = "recorded vector trials"
    kind = "cache"
    causes = frozenset({Cause.CHILD_PROCESS, Cause.COMPILE})
    risks = ("the record is for one machine: it must be made again on another kind",)
    needs = ("torch",)
    covers = ("torch.vec_isa_ok",)
    packages = ("torch",)
    stage = "isa"

    def applies(self, context: Context) -> str:
        """Want a torch that makes the trials in each process, and a command that makes some."""
        version = context.version("torch")
        if keeps_trials(version):
            return f"torch {version} keeps the answers of these trials itself"
        if not any(trials_of(launch) for launch in context.diagnosis.launches):
            return "the command makes no trials of vector instructions"
        return super().applies(context)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Count the answers, and the child processes that are gone."""
        told = verify_memo(context, seen, self.stage)
        if not told.effect:
            return told
        before, after = trials_of(seen.before), trials_of(seen.launch)
        proof = f"{told.proof}; child processes that try: {before} before, now {after}"
        return Verified(effect=after < before or not before, proof=proof)


def keeps_trials(version: str) -> bool:
    """Tell whether a version of torch makes each trial once and not in each process."""
    parts = version.partition("+")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit()) >= KEPT_SINCE


def trials_of(launch: Launch) -> int:
    """Count the child processes that try whether code loads; some end before they can be seen."""
    words = [process.argv for process in launch.processes]
    words += [child.argv for child in launch.children]
    return sum(argv[1:2] == ("-c",) and _LOADS in " ".join(argv[2:]) for argv in words)
