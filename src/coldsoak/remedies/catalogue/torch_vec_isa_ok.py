"""torch.compile without trials of vector instructions."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.catalogue.torch_isa_replay import keeps_trials
from coldsoak.remedies.setting import Setting

__all__ = ["VectorInstructionsAreFine"]


class VectorInstructionsAreFine(Setting):
    """Tell Inductor that the processor's vector instructions work.

    Up to torch 2.13 a process that compiles for the processor starts Python processes to see whether
    code with each set of vector instructions loads, even when all compiled code comes from the
    cache. `TORCHINDUCTOR_VEC_ISA_OK=1` leaves out some of these trials. It is part of the key of the
    cache, so the cache fills once more. `torch.isa_replay` leaves all of them out, and needs coldsoak
    to start the program.
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
        if keeps_trials(version):
            return f"torch {version} keeps the answers of these trials itself"
        return super().applies(context)

    def change(self, context: Context) -> Change:
        """Set the variable; the cache has to be filled again."""
        return Change(env=dict(self.variables), fill=bool(context.packages))
