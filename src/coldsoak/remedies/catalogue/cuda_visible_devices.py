"""One GPU visible to a program that uses one."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context
from coldsoak.remedies.setting import Setting

__all__ = ["OneVisibleDevice"]


class OneVisibleDevice(Setting):
    """Show a program that uses one GPU only that one.

    The driver initialises every card that it can see, and frameworks ask each for its properties.
    With `CUDA_VISIBLE_DEVICES` the others are left alone. The card is number 0 to the program then.
    """

    id = "cuda.visible_devices"
    title = "one GPU visible"
    causes = frozenset({Cause.DRIVER_INIT, Cause.CONTEXT_CREATE})
    risks = ("the program cannot use the other cards, and its card becomes number 0",)
    on_gpu = True

    def applies(self, context: Context) -> str:
        """Want several cards, one of them in use, and no choice made yet."""
        cards = [one for one in context.diagnosis.machine.devices if one.kind == "gpu"]
        if len(cards) < 2:
            return "there are not several GPUs"
        if context.environment.get("CUDA_VISIBLE_DEVICES"):
            return "CUDA_VISIBLE_DEVICES is set already"
        if context.devices != (0,):
            return "the command uses another card than the first"
        return super().applies(context)

    def change(self, context: Context) -> Change:
        """Show the card that did the work."""
        return Change(env={"CUDA_VISIBLE_DEVICES": str(min(context.devices, default=0))})
