"""The same search for the fastest kernel in each process

Libraries and compilers try candidates on the card and keep the fastest. The choice lives in the
process unless it is stored, so each process searches again, for each new shape.

It fires when the ledgers of the traced launches have at least 50 ms of `algorithm_search` before the
first result, with the caches as they are. It stays silent with `--cold cache`.

Storing the choice keeps it; switching the search off may make the steady state slower and can change
the last digits: measure both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import emptied, fix, stake, worth
from coldsoak.findings.words import seconds_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "autotune-each-process"
SEVERITY: Severity = "cause"

_LEAST_S = 0.05
_HOW = {
    "triton": ("export TRITON_CACHE_AUTOTUNING=1", "triton.autotune_cache"),
    "jax": ("export XLA_FLAGS=--xla_gpu_autotune_level=0", "xla.autotune_cache"),
    "tensorflow": ("export TF_CUDNN_USE_AUTOTUNE=0", ""),
    "torch": ("torch.backends.cudnn.benchmark = False", ""),
}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that searches in every process."""
    if emptied(view, "cache"):
        return
    for arm in view.result.arms:
        cost = stake(view, arm.name, Cause.ALGORITHM_SEARCH)
        if cost is None or not worth(cost, least_s=_LEAST_S):
            continue
        tuned = bool(view.events(arm.name, "triton", "autotune"))
        packages = view.packages(arm.name) - (set() if tuned else {"triton"})
        how = next((_HOW[name] for name in _HOW if name in packages), None)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"Candidates are tried for {seconds_text(cost.seconds)} before the first result; "
                "the next process tries them again."
            ),
            evidence=(cost.text, *((cost.named(),) if cost.items else ())),
            advice=tuple(filter(None, (how[0], fix(view, how[1])))) if how else (),
            arm=arm.name,
            seconds=cost.seconds,
        )
