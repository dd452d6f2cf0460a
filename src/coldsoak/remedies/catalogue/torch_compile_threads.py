"""torch.compile in the process itself."""

from __future__ import annotations

from coldsoak.model.causes import Cause
from coldsoak.remedies.setting import Setting

__all__ = ["CompileInProcess"]


class CompileInProcess(Setting):
    """Let Inductor compile in the process itself instead of a pool of workers.

    By default Inductor starts up to 32 worker processes, and each of them imports torch. For a few
    small graphs, or on few cores, starting the pool takes longer than compiling. A large model that
    is compiled afresh needs the pool.
    """

    id = "torch.compile_threads"
    title = "no pool of compilers"
    causes = frozenset({Cause.COMPILE, Cause.CHILD_PROCESS})
    risks = ("compiling many kernels afresh takes longer",)
    needs = ("torch",)
    packages = ("torch",)
    variables = (("TORCHINDUCTOR_COMPILE_THREADS", "1"),)
