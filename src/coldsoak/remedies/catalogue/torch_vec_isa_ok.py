"""torch.compile without trials of vector instructions."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.setting import Setting

__all__ = ["VectorInstructionsAreFine"]

CHEAP_SINCE = (2, 13)


class VectorInstructionsAreFine(Setting):
    """Tell Inductor that the processor's vector instructions work.

    Up to torch 2.12 a process that compiles for the processor starts `python -c "import torch"`
    several times to see whether code with each set of vector instructions runs, even when all
    compiled code comes from the cache. `TORCHINDUCTOR_VEC_ISA_OK=1` leaves out some of these trials.
    It is part of the key of the cache, so the cache fills once more.
    """

    id = "torch.vec_isa_ok"
    title = "no trials of vector instructions"
    causes = frozenset({Cause.CHILD_PROCESS, Cause.COMPILE})
    risks = ("on a processor that lacks the instructions the program crashes",)
    needs = ("torch",)
    packages = ("torch",)
    variables = (("TORCHINDUCTOR_VEC_ISA_OK", "1"),)

    def applies(self, context: Context) -> str:
        """Want a torch that makes the trials."""
        version = context.version("torch")
        if _numbers(version) >= CHEAP_SINCE:
            return f"torch {version} makes these trials cheaply"
        return super().applies(context)

    def change(self, context: Context) -> Change:
        """Set the variable; the cache has to be filled again."""
        return Change(env=dict(self.variables), fill=bool(context.packages))


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.partition("+")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
