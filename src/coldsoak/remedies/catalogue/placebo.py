"""A change that changes nothing."""

from __future__ import annotations

from coldsoak.remedies.base import Context, Seen, Verified
from coldsoak.remedies.setting import Setting

__all__ = ["Placebo"]


class Placebo(Setting):
    """Set a variable that nothing reads.

    This arm is in every trial. Whatever saving it shows is noise, and a trial in which it comes out
    faster or slower is not to be believed.
    """

    id = "placebo"
    title = "a variable that nothing reads"
    kind = "placebo"
    variables = (("COLDSOAK_PLACEBO", "1"),)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """There is no effect to see."""
        del context, seen
        return Verified(effect=None, proof="there is nothing to see")
