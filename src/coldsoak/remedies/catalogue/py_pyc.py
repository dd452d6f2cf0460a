"""Keep bytecode of imported modules."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.evidence import compile_seconds
from coldsoak.remedies.setting import Setting

__all__ = ["KeepBytecode"]

FOLDER = "bytecode"


class KeepBytecode(Setting):
    """Keep the bytecode of imported modules in a folder that outlives the process.

    Images are often built with `PYTHONDONTWRITEBYTECODE=1` or installed as root and run as another
    user: then every process compiles every module that it imports, thousands for a framework.
    `PYTHONPYCACHEPREFIX` gives the bytecode a folder of its own, and the first start fills it.
    Baking it into the image (`python -m compileall`) does the same without any variable.
    """

    id = "py.pyc"
    title = "bytecode kept on disk"
    kind = "cache"
    causes = frozenset({Cause.IMPORT_BYTECODE_COMPILE})
    risks = ("the folder must not be writable by others: bytecode is code",)

    def applies(self, context: Context) -> str:
        """Want a Python command that compiled something."""
        if not context.python:
            return "the command is not a Python program"
        return super().applies(context)

    def change(self, context: Context) -> Change:
        """Give bytecode a folder in the store, and let Python write to it."""
        return Change(
            env={"PYTHONPYCACHEPREFIX": str(context.store / FOLDER)},
            unset=("PYTHONDONTWRITEBYTECODE",),
            fill=True,
        )

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Compare what the imports spent on compiling."""
        del context
        before, after = compile_seconds(seen.before), compile_seconds(seen.launch)
        proof = f"compiling modules took {before:.2f} s, now {after:.2f} s"
        return Verified(effect=after < 0.5 * before, proof=proof)
