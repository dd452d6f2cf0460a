"""The keys of torch's and Triton's caches, recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.remedies.memos import Memo, verify_memo

if TYPE_CHECKING:
    from coldsoak.remedies.base import Context, Seen, Verified

__all__ = ["RecordedKeys"]

KEYS = ("torch_key", "triton_key")
LOOK_UP = frozenset({Cause.CACHE_LOOKUP, Cause.COMPILE})


class RecordedKeys(Memo):
    """Take the keys of torch's and Triton's compile caches from a record.

    Before its first look into the cache, each process reads and hashes all source files of torch, and
    of Triton its library of hundreds of megabytes too, so that code of another version is not used.
    Both keys are recorded with the size and time of change of every file that was read for them. In
    the program they are taken from the record where all of these are unchanged, which is a look at
    each file's status and not at its content; else they are worked out as always.
    """

    id = "torch.keys_memo"
    title = "recorded keys of compile caches"
    kind = "cache"
    causes = LOOK_UP
    risks = ("a file that is changed without a new size or time of change is not noticed",)
    needs = ("torch", "triton")
    packages = ("torch", "triton")
    stage = "keys"

    def applies(self, context: Context) -> str:
        """Want a traced launch that worked a key out, or Triton's kernels on a GPU."""
        labels = {
            item.label
            for ledger in context.diagnosis.ledgers
            for line in ledger.lines
            for item in line.evidence.items
        }
        if not any(label.endswith(KEYS) for label in labels) and not (
            context.gpu and "triton" in context.imported and context.at_stake(LOOK_UP)
        ):
            return "no key of a compile cache is worked out"
        return super().applies(context)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Look for the keys that were taken from the record."""
        return verify_memo(context, seen, *KEYS)
