"""Most of the card's memory is reserved at the start

JAX takes three quarters of the card's memory when it first touches it, TensorFlow nearly all. The
driver is not the slow part: XLA keeps a table of the pool's regions in host memory, which grows
with the pool, and filling it took 1.5 s for 112 GB here. A process that needs a little memory pays
for all of it.

It fires when one device allocation of the traced launches took at least a third of a card, or the
ledger has at least 50 ms of `pool_reserve`.

Reserving as you go costs a little in the steady state and may fragment memory: measure it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.stakes import fix, stake
from coldsoak.findings.words import bytes_text, seconds_text, share_text
from coldsoak.model.causes import Cause
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "pool-reserved"
SEVERITY: Severity = "cause"

_SHARE = 1 / 3
_LEAST_S = 0.05
_HOW = {
    "jax": ("XLA_PYTHON_CLIENT_PREALLOCATE=false", "jax.preallocate_off"),
    "tensorflow": ("TF_FORCE_GPU_ALLOW_GROWTH=true", "tf.allow_growth"),
}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that reserves a pool."""
    for arm in view.result.arms:
        pool, card = _largest(view, arm.name)
        cost = stake(view, arm.name, Cause.POOL_RESERVE)
        seconds = cost.seconds if cost else 0.0
        large = bool(card) and pool >= _SHARE * card
        if not large and seconds < _LEAST_S:
            continue
        size = f"{bytes_text(pool)}, {share_text(pool / card)} of the card" if large else "a pool"
        packages = view.packages(arm.name)
        how = next((_HOW[name] for name in _HOW if name in packages), None)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"The program reserves {size}, which takes {seconds_text(seconds)} before the first "
                "result: the allocator's table of regions grows with the pool."
            )
            if seconds
            else f"The program reserves {size} in one allocation.",
            evidence=(f"reserving the pool: {cost.text}",) if cost and seconds else (),
            advice=(f"export {how[0]}", fix(view, how[1])) if how else (),
            arm=arm.name,
            seconds=seconds or None,
        )


def _largest(view: View, arm: str) -> tuple[int, int]:
    """Return the largest device allocation and the memory of a card, in bytes."""
    facts = view.facts(arm)
    pools = [m.largest for one in facts for m in one.memory if m.kind == "device"]
    cards = [card.memory_bytes for one in facts for card in one.cards if card.memory_bytes]
    return max(pools, default=0), min(cards, default=0)
